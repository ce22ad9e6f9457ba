-- The shortest statement that there is: what it costs beside its logging is nothing but the connection and the parser.
--
-- With `answers` each client writes into that folder how many answers it has got, once the server is gone.

sysbench.cmdline.options = {
   answers = { "Folder for the number of answers of each client; empty: none is written", "" },
}

local ffi = require("ffi")
ffi.cdef("int usleep(unsigned int microseconds);")

function thread_init(id)
   drv = sysbench.sql.driver()
   con = drv:connect()
   name = sysbench.opt.answers .. "/" .. id
   answered = 0
   gone = false
end

function thread_done()
   if not gone then
      con:disconnect()
   end
end

local function ask()
   con:query("SELECT 1")
end

function event()
   if sysbench.opt.answers == "" then
      ask()
   elseif gone then
      ffi.C.usleep(10000)
   elseif pcall(ask) then
      answered = answered + 1
   else
      gone = true
      local file = assert(io.open(name .. ".partial", "w"))
      file:write(answered, "\n")
      file:close()
      assert(os.rename(name .. ".partial", name))
   end
end
