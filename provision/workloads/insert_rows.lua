-- A constant stream of inserts: each event is one transaction of so many rows, each row by a statement of its own.

sysbench.cmdline.options = {
   row_bytes = { "Bytes of data in a row", 100 },
   rows_per_transaction = { "Rows that a transaction inserts", 1 },
}

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   insert = "INSERT INTO inserted (filler) VALUES ('" .. string.rep("x", sysbench.opt.row_bytes) .. "')"
end

function thread_done()
   con:disconnect()
end

function event()
   local rows = sysbench.opt.rows_per_transaction
   if rows == 1 then
      con:query(insert)
      return
   end
   con:query("BEGIN")
   for _ = 1, rows do
      con:query(insert)
   end
   con:query("COMMIT")
end
