package resp_test

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/resp"
)

func TestWhatIsACommand(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100_000)
	for text, want := range map[string][]string{
		"*2\r\n$3\r\nGET\r\n$1\r\na\r\n":                 {"GET", "a"},
		"*1\r\n$0\r\n\r\n":                               {""},
		"*2\r\n$3\r\nGET\r\n$100000\r\n" + long + "\r\n": {"GET", long},
		"PING\r\n":                       {"PING"},
		"  INFO   server\n":              {"INFO", "server"},
		"\r\n*0\r\n*-1\r\n \r\nPING\r\n": {"PING"},
		"PING " + long + "\r\n":          {"PING", long},
	} {
		in := bufio.NewReader(strings.NewReader(text + text))
		for range 2 {
			got, err := resp.ReadCommand(in)
			require.NoError(t, err, "%.40q", text)
			assert.Equal(t, want, got, "%.40q", text)
		}
		for i := range min(len(text), 100) {
			got, err := resp.ReadCommand(bufio.NewReader(strings.NewReader(text[:i])))
			require.True(t, cutShort(err), "%.40q: %v", text[:i], err)
			assert.Empty(t, got)
		}
	}
}

func TestWhatIsNoCommand(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"*x\r\n", "*1048577\r\n", "*1\r\n+OK\r\n", "*1\r\n\r\n", "*1\r\n$x\r\n", "*1\r\n$-1\r\n", "*1\r\n:1\r\n",
	} {
		args, err := resp.ReadCommand(bufio.NewReader(strings.NewReader(text + "PING\r\n")))
		require.ErrorIs(t, err, resp.ErrCommand, "%q", text)
		assert.Nil(t, args)
	}
	const large = "*1\r\n$100000\r\n"
	for _, text := range []string{large + "abc", large + strings.Repeat("a", 100_001), "*1048576\r\n"} {
		_, err := resp.ReadCommand(bufio.NewReader(strings.NewReader(text)))
		assert.True(t, cutShort(err), "%.20q: %v", text, err)
	}
}
