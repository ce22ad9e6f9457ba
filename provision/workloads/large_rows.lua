-- Large rows: each event is a transaction that writes some rows of 256 KiB anew, whose content the server makes. Its redo, 2 MiB,
-- is more than a small log buffer holds.

require("oltp_common")

local rows = 16
local rows_per_transaction = 8
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
   local first = sysbench.rand.uniform(1, rows)
   local letter = string.char(96 + sysbench.rand.uniform(1, 26))
   con:query("BEGIN")
   for place = 0, rows_per_transaction - 1 do
      con:query(string.format("REPLACE INTO %s VALUES (%d, REPEAT('%s', %d))",
         name, 1 + (first + place) % rows, letter, size))
   end
   con:query("COMMIT")
end
