/* A statement that has just ended, read from its session by the conditions of the server's own slow log.

   Only this file and plugin.cc know the server: they are compiled in the source tree of one version of MariaDB. */
#pragma once

#include <string>

#include "record.h"

class THD;

namespace slowlog {

/* Say why this server is not the one that the plugin was compiled for; empty if it is. Members of a session move between
   versions, and the server itself checks only the plugin interface. */
std::string wrong_server();

/* Read the statement that has just ended into `statement`. Return false for a statement that the server's own slow log
   would leave out. */
bool read_statement(const THD &thd, Statement &statement);

}  // namespace slowlog
