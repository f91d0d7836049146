#include "sallyport.h"

static sp_json greet(sp_call *c, sp_json args) { return sp_text(sp_format("Hello, %s!", sp_str(args, "name"))); }

static const sp_field name[] = {{"name", SP_STRING, "who to greet"}, {0}};
static const sp_tool tools[] = {{"greet", "Greets someone.", greet, name}, {0}};
SP_PLUGIN("hello", "1.0.0", .tools = tools)
