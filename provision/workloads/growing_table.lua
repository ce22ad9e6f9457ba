-- A table that grows: each event is one INSERT of as many rows as fit some pages. Each time the file is made longer, a record of
-- that is written to the redo log.

require("oltp_common")

local rows = 16
local size = 5000

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   con:query("CREATE TABLE IF NOT EXISTS large_grown (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, "
      .. "content VARBINARY(5000) NOT NULL) ENGINE=InnoDB")
   local row = string.format("(REPEAT('%s', %d))", string.char(97 + sysbench.tid % 26), size)
   insert = "INSERT INTO large_grown (content) VALUES " .. string.rep(row .. ", ", rows - 1) .. row
end

function thread_done()
   con:disconnect()
end

function event()
   con:query(insert)
end
