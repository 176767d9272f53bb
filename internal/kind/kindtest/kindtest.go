// Package kindtest makes replies of masters, for tests of what reads them.
package kindtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
)

// CheckMalformed checks the vote of a malformed reply: it is Unknown, so that it is released, and its error quotes the
// reply, shortened.
func CheckMalformed(t testing.TB, v wire.Vote) {
	t.Helper()
	require.Equal(t, wire.Unknown, v.Verdict)
	require.ErrorContains(t, v.Err, "the reply ")
	require.Less(t, len(v.Err.Error()), 1200) // at most a hundred runes, all escaped
	require.Nil(t, v.Data)
}

// Reply makes a reply of the types that a script can return out of bytes, and removes them from seed.
func Reply(seed *[]byte) any { return reply(seed, 0) }

func reply(seed *[]byte, depth int) any {
	next := func() byte {
		if len(*seed) == 0 {
			return 0
		}
		b := (*seed)[0]
		*seed = (*seed)[1:]
		return b
	}
	switch next() % 8 {
	case 0:
		return nil
	case 1:
		return int64(int8(next())) << (next() % 64)
	case 2:
		return int64(next() % 3)
	case 3:
		return int64(-1)
	case 4:
		return []string{"mutex", "reader", "writer", "reentrant", "hash", "", "token", "OK"}[next()%8]
	case 5:
		n := min(int(next()), len(*seed))
		s := string((*seed)[:n])
		*seed = (*seed)[n:]
		return s
	default:
		if depth == 2 {
			return []any{}
		}
		fields := make([]any, next()%9)
		for i := range fields {
			fields[i] = reply(seed, depth+1)
		}
		return fields
	}
}

// Seed adds seeds of replies of every shape.
func Seed(f *testing.F) {
	f.Helper()
	for i := range 64 {
		b := make([]byte, i)
		for j := range b {
			b[j] = byte(j*j*i + 7*j + i)
		}
		f.Add(b)
	}
	f.Add([]byte{6, 4, 2, 0, 4, 0, 3, 2, 1}) // a denial
	f.Add([]byte{6, 4, 4, 1, 2, 1, 4, 6, 3}) // a holder
}
