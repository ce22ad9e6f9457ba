-- Rows of 256 KiB: each event is one transaction that replaces one of its client's own, whose content the server makes.
-- A transaction's redo is then as large as a log buffer may be.

require("oltp_common")

local rows = 16
local size = 256 * 1024

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   name = string.format("large_%d", sysbench.tid + 1)
   con:query(string.format(
      "CREATE TABLE IF NOT EXISTS %s (id INT NOT NULL PRIMARY KEY, content LONGTEXT NOT NULL) ENGINE=InnoDB", name))
end

function thread_done()
   con:disconnect()
end

function event()
   con:query(string.format("REPLACE INTO %s VALUES (%d, REPEAT('%s', %d))",
      name, sysbench.rand.uniform(1, rows), string.char(96 + sysbench.rand.uniform(1, 26)), size))
end
