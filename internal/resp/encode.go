package resp

import "strconv"

// AppendCommand appends a command: an array of bulk strings. Arguments are of type string, []byte, int or int64;
// AppendCommand panics for others.
func AppendCommand(b []byte, args []any) []byte { return AppendArgs(AppendHead(b, len(args)), args) }

// AppendHead appends the beginning of a command of n arguments.
func AppendHead(b []byte, n int) []byte { return appendLength(b, '*', n) }

// AppendArgs appends arguments of a command.
func AppendArgs(b []byte, args []any) []byte {
	for _, a := range args {
		switch a := a.(type) {
		case string:
			b = AppendString(b, a)
		case []byte:
			b = append(appendLength(b, '$', len(a)), a...)
			b = append(b, "\r\n"...)
		case int:
			b = AppendInt(b, int64(a))
		case int64:
			b = AppendInt(b, a)
		default:
			// The text does not contain the value, because the arguments would then escape to the heap.
			panic("redlock: an argument of a command must be a string, a []byte, an int or an int64")
		}
	}
	return b
}

// AppendString appends an argument.
func AppendString(b []byte, s string) []byte {
	b = append(appendLength(b, '$', len(s)), s...)
	return append(b, "\r\n"...)
}

// AppendInt appends an argument.
func AppendInt(b []byte, n int64) []byte {
	var room [20]byte
	digits := strconv.AppendInt(room[:0], n, 10)
	b = append(appendLength(b, '$', len(digits)), digits...)
	return append(b, "\r\n"...)
}

func appendLength(b []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(b, kind), int64(n), 10), "\r\n"...)
}

// Size returns an upper bound of the size of a command of these arguments.
func Size(args []any) int {
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

// Commands returns the arguments, as strings, of each command that AppendCommand has encoded.
func Commands(b []byte) (all [][]any) {
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
