package wasi

import (
	"context"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// Module is the import module of WASI preview 1.
const Module = "wasi_snapshot_preview1"

// function implements a WASI function; p holds the parameters.
type function func(c call, p []uint64) Errno

// HostFuncs returns the 46 functions of WASI preview 1. They use the State of the call's gate (see Host); without one
// all of them return ENOSYS.
func HostFuncs() []runtime.HostFunc {
	return []runtime.HostFunc{
		define("args_get", "ii", argsGet),
		define("args_sizes_get", "ii", argsSizesGet),
		define("environ_get", "ii", environGet),
		define("environ_sizes_get", "ii", environSizesGet),
		define("clock_res_get", "ii", clockResGet),
		define("clock_time_get", "iIi", clockTimeGet),
		define("fd_advise", "iIIi", fdAdvise),
		define("fd_allocate", "iII", fdAllocate),
		define("fd_close", "i", fdClose),
		define("fd_datasync", "i", fdSync),
		define("fd_fdstat_get", "ii", fdFdstatGet),
		define("fd_fdstat_set_flags", "ii", fdFdstatSetFlags),
		define("fd_fdstat_set_rights", "iII", fdFdstatSetRights),
		define("fd_filestat_get", "ii", fdFilestatGet),
		define("fd_filestat_set_size", "iI", fdFilestatSetSize),
		define("fd_filestat_set_times", "iIIi", fdFilestatSetTimes),
		define("fd_pread", "iiiIi", fdPread),
		define("fd_prestat_get", "ii", fdPrestatGet),
		define("fd_prestat_dir_name", "iii", fdPrestatDirName),
		define("fd_pwrite", "iiiIi", fdPwrite),
		define("fd_read", "iiii", fdRead),
		define("fd_readdir", "iiiIi", fdReaddir),
		define("fd_renumber", "ii", fdRenumber),
		define("fd_seek", "iIii", fdSeek),
		define("fd_sync", "i", fdSync),
		define("fd_tell", "ii", fdTell),
		define("fd_write", "iiii", fdWrite),
		define("path_create_directory", "iii", pathCreateDirectory),
		define("path_filestat_get", "iiiii", pathFilestatGet),
		define("path_filestat_set_times", "iiiiIIi", pathFilestatSetTimes),
		define("path_link", "iiiiiii", pathLink),
		define("path_open", "iiiiiIIii", pathOpen),
		define("path_readlink", "iiiiii", pathReadlink),
		define("path_remove_directory", "iii", pathRemoveDirectory),
		define("path_rename", "iiiiii", pathRename),
		define("path_symlink", "iiiii", pathSymlink),
		define("path_unlink_file", "iii", pathUnlinkFile),
		define("poll_oneoff", "iiii", pollOneoff),
		{Module: Module, Name: "proc_exit", Params: []runtime.ValueType{runtime.I32}, Call: procExit},
		define("proc_raise", "i", procRaise),
		define("sched_yield", "", schedYield),
		define("random_get", "ii", randomGet),
		define("sock_accept", "iii", noSocket),
		define("sock_recv", "iiiiii", noSocket),
		define("sock_send", "iiiii", noSocket),
		define("sock_shutdown", "ii", noSocket),
	}
}

// define wraps f. params has one letter per parameter: i for i32, I for i64.
func define(name, params string, f function) runtime.HostFunc {
	types := make([]runtime.ValueType, len(params))
	for i, p := range params {
		types[i] = runtime.I32
		if p == 'I' {
			types[i] = runtime.I64
		}
	}
	return runtime.HostFunc{
		Module:  Module,
		Name:    name,
		Params:  types,
		Results: []runtime.ValueType{runtime.I32},
		Call: func(ctx context.Context, mem runtime.Memory, stack []uint64) {
			stack[0] = uint64(invoke(ctx, mem, stack[:len(types)], types, f))
		},
	}
}

func invoke(ctx context.Context, mem runtime.Memory, p []uint64, types []runtime.ValueType, f function) Errno {
	st := stateFrom(ctx)
	if st == nil {
		return ENOSYS
	}
	if ctx.Err() != nil {
		return ECANCELED
	}
	if mem == nil {
		mem = noMemory{}
	}
	for i, t := range types {
		if t == runtime.I32 {
			p[i] = uint64(uint32(p[i]))
		}
	}
	st.ctx = ctx
	return f(call{State: st, ctx: ctx, mem: mem}, p)
}

// noMemory is the memory of a guest without memory.
type noMemory struct{}

func (noMemory) Size() uint32                       { return 0 }
func (noMemory) Read(uint32, uint32) ([]byte, bool) { return nil, false }
func (noMemory) Write(uint32, []byte) bool          { return false }
