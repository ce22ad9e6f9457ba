-- Updates at moments that are fixed beforehand: each event is one transaction, an UPDATE of a row that no other client touches. A client
-- that waits for an answer does not put off what is due next: it is then late, and its wait counts from when it was due.
--
-- A note is a line for each statement that was acknowledged: when it was due, and when that was, in microseconds of CLOCK_MONOTONIC.

local ffi = require("ffi")

ffi.cdef[[
typedef struct { long seconds; long nanoseconds; } paced_time;
int clock_gettime(int clock, paced_time *now);
int clock_nanosleep(int clock, int flags, const paced_time *until, paced_time *left);
]]

sysbench.cmdline.options = {
   notes = { "Folder of the notes, a file for each client", "." },
   interval_us = { "Microseconds from one statement of a client to its next", 100000 },
   rows = { "Rows of each client", 100 },
}

local MONOTONIC, ABSOLUTE = 1, 1
local clock = ffi.new("paced_time")

local function now()
   ffi.C.clock_gettime(MONOTONIC, clock)
   return tonumber(clock.seconds) * 1000000 + math.floor(tonumber(clock.nanoseconds) / 1000)
end

local function sleep_until(moment)
   clock.seconds = math.floor(moment / 1000000)
   clock.nanoseconds = (moment % 1000000) * 1000
   -- A signal that interrupts it is no reason to be early.
   while ffi.C.clock_nanosleep(MONOTONIC, ABSOLUTE, clock, nil) ~= 0 do end
end

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   notes = assert(io.open(string.format("%s/%d", sysbench.opt.notes, sysbench.tid), "w"))
   -- A line is in the file as soon as it is noted: the clients are ended by SIGKILL.
   notes:setvbuf("line")
   number = 0
   -- The clients take turns within an interval.
   due = now() + math.floor(sysbench.opt.interval_us * (1 + sysbench.tid / sysbench.opt.threads))
end

function thread_done()
   notes:close()
   con:disconnect()
end

function event()
   sleep_until(due)
   con:query(string.format("UPDATE paced SET n = n + 1 WHERE id = %d",
      sysbench.tid * sysbench.opt.rows + number % sysbench.opt.rows))
   notes:write(string.format("%.0f %.0f\n", due, now()))
   number = number + 1
   due = due + sysbench.opt.interval_us
end
