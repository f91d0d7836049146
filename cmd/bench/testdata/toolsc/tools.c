// The tool echo of the comparison of languages. tools.wasm is built of it, with pdk/c/sallyport.h, by make tools-guest.
#include "sallyport.h"

static sp_json echo(sp_call *c, sp_json args) { return sp_text(sp_str(args, "text")); }

static const sp_field text[] = {{"text", SP_STRING}, {0}};
static const sp_tool tools[] = {{"echo", "answers with its text", echo, text}, {0}};
SP_PLUGIN("tools", "1", .tools = tools)
