/* The plugin as the server sees it: its variables, its status, and what it does when a statement has ended. */

#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "gathering.h"
#include "interface.h"
#include "log_file.h"
#include "session.h"

namespace {

using slowlog::LogFile;
using slowlog::Statement;

constexpr std::size_t LONGEST_NAME = 512;
char default_name[] = "redolab-slow.log";

LogFile log_file;
char file_name[LONGEST_NAME];

/* The server writes to these. */
char enabled = 1;
char reopen = 0;
char *file = default_name;
unsigned buffer = 0;

void complain(const char *what, const char *why) {
    std::fprintf(stderr, "redolab_slow_log: %s: %s\n", what, why);
    std::fflush(stderr);
}

int begin(void *) {
    try {
        const std::string wrong = slowlog::check_server();
        if (!wrong.empty()) {
            complain("not loaded", wrong.c_str());
            return 1;
        }
        if (file == nullptr || std::strlen(file) >= LONGEST_NAME) {
            complain("not loaded", "the name of its file is empty or too long");
            return 1;
        }
        std::strcpy(file_name, file);
        file = file_name;
        if (const int error = log_file.open(file_name); error != 0) {
            complain(file_name, std::strerror(error));
            return 1;
        }
        return 0;
    } catch (const std::exception &error) {
        complain("not loaded", error.what());
        return 1;
    }
}

int end(void *) {
    /* The server unloads what no session uses any more: nobody is appending. */
    slowlog::flush_all();
    log_file.close();
    return 0;
}

void log(const void *thd, const server::GeneralEvent &event) {
    Statement statement;
    bool matches = true;
    if (slowlog::read_statement(thd, event, statement, matches))
        slowlog::gathered_here(log_file).log(statement, buffer);
    else if (!matches)
        log_file.dropped.add(1);
}

void notify(void *thd, unsigned event_class, const void *event) {
    try {
        if (event_class == server::CONNECTION_CLASS) {
            const auto *const connection = static_cast<const server::ConnectionEvent *>(event);
            if (connection->subclass == server::CONNECTION_DISCONNECT) slowlog::gathered_here(log_file).flush();
            return;
        }
        const auto *const general = static_cast<const server::GeneralEvent *>(event);
        if (event_class == server::GENERAL_CLASS && general->subclass == server::GENERAL_STATUS && enabled != 0 &&
            thd != nullptr)
            log(thd, *general);
    } catch (const std::exception &) {
        /* No memory for this one: the server goes on. */
        log_file.dropped.add(1);
    }
}

/* Variables: what a check refuses is an error of the SET GLOBAL, and nothing has changed. */

int check_reopen(void *, server::Variable *, void *save, server::Value *value) {
    long long wanted = 0;
    if (value->integer(value, &wanted) != 0 || (wanted != 0 && wanted != 1)) return 1;
    if (wanted == 1) {
        slowlog::flush_all();
        if (const int error = log_file.reopen(file_name); error != 0) {
            complain(file_name, std::strerror(error));
            return 1;
        }
    }
    *static_cast<char *>(save) = 0;
    return 0;
}

int check_file(void *, server::Variable *, void *save, server::Value *value) {
    char room[LONGEST_NAME];
    int length = sizeof room;
    const char *const wanted = value->text(value, room, &length);
    if (wanted == nullptr || length <= 0 || static_cast<std::size_t>(length) >= LONGEST_NAME) return 1;
    const std::string name(wanted, static_cast<std::size_t>(length));
    slowlog::flush_all();
    if (const int error = log_file.reopen(name.c_str()); error != 0) {
        complain(name.c_str(), std::strerror(error));
        return 1;
    }
    /* SET GLOBAL of a plugin's variables is one at a time. */
    std::strcpy(file_name, name.c_str());
    *static_cast<char **>(save) = file_name;
    return 0;
}

void update_file(void *, server::Variable *, void *to, const void *save) {
    *static_cast<char **>(to) = *static_cast<char *const *>(save);
}

void update_buffer(void *, server::Variable *, void *to, const void *save) {
    *static_cast<unsigned *>(to) = *static_cast<const unsigned *>(save);
    slowlog::flush_all();
}

server::BoolVariable enabled_variable = {
    {server::VARIABLE_BOOL | server::ARGUMENT_OPTIONAL, "enabled", "Whether slow statements are logged", nullptr, nullptr},
    &enabled,
    1};
server::TextVariable file_variable = {
    {server::VARIABLE_TEXT, "file", "The file that is appended to; relative to the data directory", check_file, update_file},
    &file,
    default_name};
server::BoolVariable reopen_variable = {
    {server::VARIABLE_BOOL | server::NO_COMMAND_LINE_OPTION, "reopen",
     "Setting it to 1 opens the file anew, for example once it was renamed", check_reopen, nullptr},
    &reopen,
    0};
server::UnsignedVariable buffer_variable = {
    {server::VARIABLE_UNSIGNED, "buffer",
     "Bytes that each connection gathers before they are written; 0: each statement is written at once", nullptr,
     update_buffer},
    &buffer,
    0,
    0,
    16 << 20,
    1};
server::Variable *variables[] = {&enabled_variable, &file_variable, &reopen_variable, &buffer_variable, nullptr};

template <const slowlog::Counter LogFile::*counter>
int shown(void *, server::ShowVariable *variable, void *room, void *, int) {
    auto *const value = static_cast<unsigned long long *>(room);
    *value = (log_file.*counter).sum();
    variable->type = server::SHOW_UNSIGNED_LONG_LONG;
    variable->value = value;
    return 0;
}

void *as_value(server::ShowFunction function) { return reinterpret_cast<void *>(function); }

server::ShowVariable status[] = {
    {"Redolab_slow_log_lines", as_value(shown<&LogFile::lines>), server::SHOW_SIMPLE_FUNCTION},
    {"Redolab_slow_log_bytes", as_value(shown<&LogFile::bytes>), server::SHOW_SIMPLE_FUNCTION},
    {"Redolab_slow_log_write_errors", as_value(shown<&LogFile::errors>), server::SHOW_SIMPLE_FUNCTION},
    {"Redolab_slow_log_short_writes", as_value(shown<&LogFile::short_writes>), server::SHOW_SIMPLE_FUNCTION},
    {"Redolab_slow_log_dropped", as_value(shown<&LogFile::dropped>), server::SHOW_SIMPLE_FUNCTION},
    {nullptr, nullptr, {}}};

server::Audit audit = {server::AUDIT_INTERFACE_VERSION,
                       nullptr,
                       notify,
                       {1UL << server::GENERAL_CLASS | 1UL << server::CONNECTION_CLASS}};

}  // namespace

extern "C" {
#define EXPORTED __attribute__((visibility("default")))
EXPORTED int _maria_plugin_interface_version_ = server::PLUGIN_INTERFACE_VERSION;
EXPORTED int _maria_sizeof_struct_st_plugin_ = sizeof(server::Plugin);
EXPORTED server::Plugin _maria_plugin_declarations_[] = {
    {server::AUDIT_PLUGIN, &audit, "REDOLAB_SLOW_LOG", "redolab", "A slow query log without a lock", server::LICENCE_BSD,
     begin, end, 0x0100, status, variables, "1.0", server::MATURITY_GAMMA},
    {}};
}
