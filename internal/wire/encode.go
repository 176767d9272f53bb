package wire

import "strconv"

// A command is encoded once, with its Op. The nodes to which the Op is submitted share the bytes.

// appendCommand appends a command in the Redis protocol (RESP2): an array of bulk strings.
func appendCommand(b []byte, args []any) []byte {
	b = appendHead(b, '*', len(args))
	return appendArgs(b, args)
}

func appendArgs(b []byte, args []any) []byte {
	var digits [20]byte
	for _, a := range args {
		switch a := a.(type) {
		case string:
			b = appendString(b, a)
		case []byte:
			b = append(appendHead(b, '$', len(a)), a...)
			b = append(b, "\r\n"...)
		case int:
			b = appendNumber(b, strconv.AppendInt(digits[:0], int64(a), 10))
		case int64:
			b = appendNumber(b, strconv.AppendInt(digits[:0], a, 10))
		default:
			// The text does not contain the value, because the arguments would then escape to the heap.
			panic("node: an argument of a command must be a string, a []byte, an int or an int64")
		}
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b = append(appendHead(b, '$', len(s)), s...)
	return append(b, "\r\n"...)
}

func appendNumber(b, digits []byte) []byte {
	b = append(appendHead(b, '$', len(digits)), digits...)
	return append(b, "\r\n"...)
}

func appendHead(b []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(b, kind), int64(n), 10), "\r\n"...)
}

// size returns an upper bound of the encoded size of the arguments.
func size(args []any) int {
	n := 16
	for _, a := range args {
		switch a := a.(type) {
		case string:
			n += len(a) + 10
		case []byte:
			n += len(a) + 10
		default:
			n += 28
		}
	}
	return n
}

// decodeCommands returns the arguments of each encoded command.
func decodeCommands(b []byte) (all [][]any) {
	number := func() (n int) {
		i := 1
		for ; b[i] != '\r'; i++ {
			n = 10*n + int(b[i]-'0')
		}
		b = b[i+2:]
		return n
	}
	for len(b) > 0 {
		args := make([]any, number())
		for i := range args {
			n := number()
			args[i] = string(b[:n])
			b = b[n+2:]
		}
		all = append(all, args)
	}
	return all
}
