// Package unwind compiles the exceptions of a WebAssembly module to plain WebAssembly 2.0, so that the engine neither
// reads nor runs an instruction of exceptions:
//
//	file ── wasmbin.Read, Check ──▶ Checked ── Lower ──▶ Checked without exceptions ── rewrite.Rewrite ──▶ …
//
// A module gets one global for the exception in flight, which is its tag plus one, or zero, and globals for its values.
// A throw sets them and branches to the innermost handler of its function, or to the function's end, which returns zeros.
// A call of a function that may throw is followed by a branch to the same place if an exception is in flight. The end of
// a try_table compares the tag with those of its clauses:
//
//	try_table (catch $tag $label)      block $out
//	  call $f                            block $pad
//	end                                    block $body
//	                                         call $f
//	                                         global.get $exception  br_if $pad
//	                                       end
//	                                       br $out
//	                                     end
//	                                     global.get $exception  i32.const tag+1  i32.eq
//	                                     if  …values…  i32.const 0  global.set $exception  br $label  end
//	                                     br $outer-pad
//	                                   end
//
// So entering a try_table costs nothing, a throw costs a few instructions for each function that it leaves, and all of
// it is metered, bounded in depth and restored like other code. An exception is in flight only between two functions of
// the module, also if the call is a tail call, which leaves the try_tables around it: never in a host function, nor after a
// call of the host, since exported functions that may throw become functions that trap if one is left. A trap, and the end
// of a guest by the host, is no exception and passes no handler.
//
// # Exception references
//
// A reference is an i64: the tag plus one in its upper half, and the exception's value in the lower one. It needs no memory,
// so none can be used after it was freed. Therefore, in a module with references, a tag has at most one value, of 32
// bits: a pointer, as compilers of C and C++ have it. There are no tables of references, and no ref.is_null for one. An invalid
// module that takes a reference for an i64 may become a valid one, whose references are then numbers of its own
// choice: a throw of a tag that does not exist is caught by clauses for all exceptions.
//
// # Guarantees
//
// The result is checked again as a module without exceptions, under the same limits, so that nothing here is trusted.
// Tags are neither imported nor exported: an export of one is left out.
package unwind
