-- Point selects that carry their number and their client's, at the beginning and at the end, so that a log of them can be held
-- against what was sent. When a client began to wait and when it was answered is kept in memory, by the clock that does not
-- jump, and written to a file of its own at the end: a line for each statement, two numbers of nanoseconds.

local ffi = require("ffi")

ffi.cdef[[
typedef struct { long seconds; long nanoseconds; } numbered_time;
int clock_gettime(int clock, numbered_time *now);
]]

sysbench.cmdline.options = {
   notes = { "Folder of the notes, a file for each client", "." },
   rows = { "Rows of the table", 10000 },
}

local MONOTONIC = 1
local clock = ffi.new("numbered_time")

local function now()
   ffi.C.clock_gettime(MONOTONIC, clock)
   return tonumber(clock.seconds) * 1e9 + tonumber(clock.nanoseconds)
end

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   sent, answered = {}, {}
end

function event()
   local number = #sent + 1
   local row = sysbench.rand.uniform(1, sysbench.opt.rows)
   local statement = string.format("SELECT /* redolab %d of %d */ c FROM numbered WHERE id=%d /* %d */",
                                   number, sysbench.tid, row, number)
   sent[number] = now()
   con:query(statement)
   answered[number] = now()
end

function thread_done()
   local notes = assert(io.open(string.format("%s/%d", sysbench.opt.notes, sysbench.tid), "w"))
   for number = 1, #answered do
      notes:write(string.format("%.0f %.0f\n", sent[number], answered[number]))
   end
   notes:close()
   con:disconnect()
end
