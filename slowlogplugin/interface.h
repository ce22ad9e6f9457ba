/* The part of MariaDB's plugin interface that an audit plugin needs, as its servers from 10.5 on have it.

   Debian's packages have the headers that say it, but 6 to 95 MB of them for each version, and of other servers not at
   all. `make check-interface HEADERS_OF_SERVER=…/include/mariadb/server` compares what stands here with them. */
#pragma once

#include <cstddef>

namespace server {

constexpr int PLUGIN_INTERFACE_VERSION = 0x010e; /* the oldest of the servers: each loads what is not newer than itself */
constexpr int AUDIT_INTERFACE_VERSION = 0x0302;
constexpr int AUDIT_PLUGIN = 5;
constexpr int LICENCE_BSD = 2; /* as the server has only GPL, BSD and proprietary to choose from */
constexpr unsigned MATURITY_GAMMA = 4; /* what servers load unless they are told otherwise */

constexpr unsigned GENERAL_CLASS = 0;
constexpr unsigned GENERAL_STATUS = 3;
constexpr unsigned CONNECTION_CLASS = 1;
constexpr unsigned CONNECTION_DISCONNECT = 1;

struct Text {
    const char *data;
    std::size_t length;
};

struct GeneralEvent {
    unsigned subclass;
    int error_code;
    unsigned long thread_id;
    const char *user;
    unsigned user_length;
    const char *command;
    unsigned command_length;
    const char *query;
    unsigned query_length;
    const void *character_set;
    unsigned long long time; /* whole seconds */
    unsigned long long rows;
    unsigned long long query_id;
    Text database;
};

/* Of a connection's event no more is looked at. */
struct ConnectionEvent {
    unsigned subclass;
};

struct Audit {
    int interface_version;
    void (*release)(void *thd);
    void (*notify)(void *thd, unsigned event_class, const void *event);
    unsigned long class_mask[1];
};

enum ShowType { SHOW_SIMPLE_FUNCTION = 13, SHOW_UNSIGNED_LONG_LONG = 4 };

struct ShowVariable {
    const char *name;
    void *value;
    ShowType type;
};
using ShowFunction = int (*)(void *thd, ShowVariable *variable, void *buffer, void *status, int scope);

constexpr int VARIABLE_BOOL = 0x0001;
constexpr int VARIABLE_UNSIGNED = 0x0002 | 0x0080;
constexpr int VARIABLE_TEXT = 0x0005;
constexpr int NO_COMMAND_LINE_OPTION = 0x0800;
constexpr int ARGUMENT_OPTIONAL = 0x2000;

struct Value {
    int (*type)(Value *value);
    const char *(*text)(Value *value, char *buffer, int *length);
    int (*real)(Value *value, double *real);
    int (*integer)(Value *value, long long *integer);
    int (*is_unsigned)(Value *value);
};

struct Variable {
    int flags;
    const char *name;
    const char *comment;
    int (*check)(void *thd, Variable *variable, void *save, Value *value);
    void (*update)(void *thd, Variable *variable, void *to, const void *save);
};

struct BoolVariable : Variable {
    char *value;
    const char initial;
};

struct TextVariable : Variable {
    char **value;
    char *const initial;
};

struct UnsignedVariable : Variable {
    unsigned *value;
    const unsigned initial;
    const unsigned least;
    const unsigned most;
    const unsigned block;
};

struct Plugin {
    int type;
    void *info;
    const char *name;
    const char *author;
    const char *about;
    int licence;
    int (*begin)(void *);
    int (*end)(void *);
    unsigned version;
    ShowVariable *status;
    Variable **variables;
    const char *version_text;
    unsigned maturity;
};

}  // namespace server
