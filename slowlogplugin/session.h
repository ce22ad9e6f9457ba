/* What a session's THD says of its statement, read at the places that the server's own slow log reads.

   A THD differs from version to version and from build to build, and Debian has no package with the headers that declare
   it. So where its members are was read out of the machine code of one server's binary, when this was built for that
   server (redolab/querylogs/plugin/layout.py writes server_layout.h). Any other server is refused when this is loaded:
   the code of the functions that the places were read from must be the same, byte for byte. */
#pragma once

#include <string>

#include "interface.h"
#include "record.h"

namespace slowlog {

/* Find the variables of the server that decide what is slow. What is wrong with this server, empty if nothing. */
std::string check_server();

/* What the server says of the statement that has just ended; false if it is too quick, has looked at too few rows, or
   is none. `matches` is false where the THD is not as expected: then nothing of it was used. */
bool read_statement(const void *thd, const server::GeneralEvent &event, Statement &statement, bool &matches);

}  // namespace slowlog
