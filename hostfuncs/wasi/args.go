package wasi

// argsGet writes the arguments.
//
//	args_get(argv, buf ptr) -> errno    EFAULT
//
//	argv ─▶ [ptr 0][ptr 1]…        buf ─▶ name\0 arg\0 …
//	           └────────────────────────▶ ┘
func argsGet(c call, p []uint64) Errno { return c.putStrings(c.args, p[0], p[1]) }

// argsSizesGet writes the number of arguments, and the number of bytes that args_get needs for them.
//
//	args_sizes_get(count, size ptr) -> errno    EFAULT
func argsSizesGet(c call, p []uint64) Errno { return c.putSizes(c.args, p[0], p[1]) }

// environGet writes the environment in the format of args_get.
//
//	environ_get(environ, buf ptr) -> errno    EFAULT
func environGet(c call, p []uint64) Errno { return c.putStrings(c.env, p[0], p[1]) }

// environSizesGet writes the number of variables, and the number of bytes that environ_get needs.
//
//	environ_sizes_get(count, size ptr) -> errno    EFAULT
func environSizesGet(c call, p []uint64) Errno { return c.putSizes(c.env, p[0], p[1]) }

func (c call) putSizes(list []string, count, size uint64) Errno {
	bytes := 0
	for _, s := range list {
		bytes += len(s) + 1
	}
	if e := c.put32(count, uint32(len(list))); e != ESUCCESS {
		return e
	}
	return c.put32(size, uint32(bytes))
}

func (c call) putStrings(list []string, pointers, buf uint64) Errno {
	var heads, text []byte
	for _, s := range list {
		at := buf + uint64(len(text))
		if at > 1<<32-1 {
			return EFAULT
		}
		heads = le.AppendUint32(heads, uint32(at))
		text = append(append(text, s...), 0)
	}
	if e := c.put(buf, text); e != ESUCCESS {
		return e
	}
	return c.put(pointers, heads)
}
