// A plugin that answers with values of each kind, for the test of the library.
#include "sallyport.h"
static sp_json p(sp_call *c, sp_json a) {
  sp_json x = sp_integer(1), y = sp_array(x), z = sp_array(x, x);
  sp_add(y, sp_integer(2)); sp_add(z, x);
  sp_json nums = sp_array();
  const double all[] = {0, -1.5, 0.1, 1e21, -2.5e-10, 123456.789, 1e15, 4503599627370496.0, 1.0/3, 100.25, 1e-5};
  for (int i = 0; i < 11; i++) sp_add(nums, sp_number(all[i]));
  return sp_object("y", y, "z", z, "n", nums, "same", sp_get(a, "v"), "again", sp_get(a, "v"), "f", sp_string(sp_format("%g|%g|%d%%|%c|%s|%zu", 1.5, 1.0/0.0, -7, 'x', (char*)0, (sp_size)9)), "int", sp_integer(sp_int(a, "i")), "num", sp_number(sp_num(a, "i")));
}
static const sp_field f[] = {{"v", SP_ANY}, {"i", SP_NUMBER}, {0}};
static const sp_tool tools[] = {{"p", "P.", p, f}, {0}};
SP_PLUGIN("probe", "1", .tools = tools)
