-- Numbered transactions, and beside the server a note of each before it is sent and after it was acknowledged, by the clock that
-- the disk model goes by. The first client reads what the others have written, as another session sees it.
--
-- With `defines` the second client makes, empties and drops a table instead, again and again (redolab/workloads/data.py has what each
-- of these statements leaves), and sends one of the statements `between` after each.
--
-- With `xa` transactions are prepared before they are committed, as an application does that commits on two servers.
--
-- A note is a line: S (sent), P (prepared), A (acknowledged), F (refused, and rolled back), R (read: whose, up to which), D and E (a statement that
-- defines: before it is sent, and after it was acknowledged), the number, the time.

local ffi = require("ffi")

ffi.cdef[[
typedef struct { long seconds; long nanoseconds; } ledger_time;
int usleep(unsigned int microseconds);
int clock_gettime(int clock, ledger_time *now);
]]

sysbench.cmdline.options = {
   notes = { "Folder of the notes, a file for each client", "." },
   parts = { "Rows that each transaction inserts", 3 },
   accounts = { "Accounts between which money is moved", 500 },
   defines = { "What one client defines: nothing, tables, partitions", "nothing" },
   xa = { "Whether transactions are prepared first: off, on", "off" },
   between = { "Statements of that client between its own, with ; between them", "" },
}

local MONOTONIC = 1
local filler = string.rep("x", 100)
local now = ffi.new("ledger_time")

local function note(what, number)
   ffi.C.clock_gettime(MONOTONIC, now)
   notes:write(string.format("%s %s %d%09d\n", what, number, tonumber(now.seconds), tonumber(now.nanoseconds)))
end

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   number = 0
   between = {}
   for statement in string.gmatch(sysbench.opt.between, "[^;]+") do
      between[#between + 1] = statement
   end
   notes = assert(io.open(string.format("%s/%d", sysbench.opt.notes, sysbench.tid), "w"))
   -- A line is in the file before the statement that it is about is sent.
   notes:setvbuf("line")
end

function thread_done()
   notes:close()
   con:disconnect()
end

local function read_others()
   local whose = sysbench.rand.uniform(1, math.max(1, sysbench.opt.threads - 1))
   local upto = con:query_row(string.format("SELECT MAX(number) FROM ledger_entries WHERE client = %d", whose))
   if upto ~= nil then
      note("R", string.format("%d:%s", whose, upto))
   end
   ffi.C.usleep(5000)
end

local function transaction()
   local rows = {}
   for part = 1, sysbench.opt.parts do
      rows[part] = string.format("(%d, %d, %d, '%s')", sysbench.tid, number, part, filler)
   end
   -- In the order of their numbers, so that two clients never wait for each other.
   local from = sysbench.rand.uniform(1, sysbench.opt.accounts - 1)
   local to = sysbench.rand.uniform(from + 1, sysbench.opt.accounts)
   local amount = sysbench.rand.uniform(-100, 100)
   local xid = string.format("'%d,%d'", sysbench.tid, number)
   local is_xa = sysbench.opt.xa == "on"
   con:query(is_xa and "XA START " .. xid or "BEGIN")
   con:query("INSERT INTO ledger_entries VALUES " .. table.concat(rows, ", "))
   con:query(string.format("UPDATE ledger_accounts SET balance = balance - %d WHERE id = %d", amount, from))
   con:query(string.format("UPDATE ledger_accounts SET balance = balance + %d WHERE id = %d", amount, to))
   if is_xa then
      con:query("XA END " .. xid)
      con:query("XA PREPARE " .. xid)
      note("P", number)
   end
   con:query(is_xa and "XA COMMIT " .. xid or "COMMIT")
end

local function filled()
   local rows = {}
   for part = 0, 3 do
      for row = 1, 200 do
         rows[#rows + 1] = string.format("(%d, '%s')", 1000 * part + row, filler)
      end
   end
   return table.concat(rows, ", ")
end

local COLUMNS = "(id INT NOT NULL PRIMARY KEY, filler VARCHAR(200) NOT NULL) ENGINE=InnoDB"
local DEFINING = {
   tables = {
      "CREATE TABLE ledger_defined " .. COLUMNS,
      "INSERT INTO ledger_defined VALUES " .. filled(),
      "ALTER TABLE ledger_defined ADD INDEX (filler)",
      "ALTER TABLE ledger_defined ENGINE=InnoDB",
      "TRUNCATE TABLE ledger_defined",
      "INSERT INTO ledger_defined VALUES " .. filled(),
      "DROP TABLE ledger_defined",
   },
   partitions = {
      "CREATE TABLE ledger_defined " .. COLUMNS .. " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (1000), "
         .. "PARTITION p1 VALUES LESS THAN (2000), PARTITION p2 VALUES LESS THAN (3000), PARTITION p3 VALUES LESS THAN (4000))",
      "INSERT INTO ledger_defined VALUES " .. filled(),
      "ALTER TABLE ledger_defined TRUNCATE PARTITION p1",
      "ALTER TABLE ledger_defined DROP PARTITION p2",
      "ALTER TABLE ledger_defined ENGINE=InnoDB",
      "TRUNCATE TABLE ledger_defined",
      "DROP TABLE ledger_defined",
   },
}

local function define()
   number = number + 1
   note("D", number)
   local statements = DEFINING[sysbench.opt.defines]
   con:query(statements[(number - 1) % #statements + 1])
   note("E", number)
   if #between > 0 then
      con:query(between[(number - 1) % #between + 1])
   end
end

function event()
   if sysbench.tid == 0 then
      return read_others()
   end
   if sysbench.opt.defines ~= "nothing" and sysbench.tid == 1 then
      return define()
   end
   number = number + 1
   note("S", number)
   transaction()
   note("A", number)
end
