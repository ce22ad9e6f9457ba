-- Fills the redo log fast: each event is one UPDATE of the columns c and pad over neighbouring rows at a random place.
-- One statement changes many rows on few pages, so that the clients' round trips do not limit the rate at which
-- redo is written; the random places make the pages it changes spread over the whole dataset.

require("oltp_common")

sysbench.cmdline.options.rows_per_update = { "Neighbouring rows that one UPDATE changes", 64 }

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
end

function thread_done()
   con:disconnect()
end

local c_template = string.rep("###########-", 9) .. "###########"
local pad_template = string.rep("###########-", 4) .. "###########"

function event()
   local rows = sysbench.opt.rows_per_update
   local first = sysbench.rand.uniform(1, math.max(1, sysbench.opt.table_size - rows + 1))
   con:query(string.format("UPDATE sbtest%d SET c = '%s', pad = '%s' WHERE id BETWEEN %d AND %d",
      sysbench.rand.uniform(1, sysbench.opt.tables),
      sysbench.rand.string(c_template), sysbench.rand.string(pad_template),
      first, first + rows - 1))
end
