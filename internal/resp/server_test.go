package resp_test

import (
	"bufio"
	"io"
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
		"PING\r\n":                                 {"PING"},
		"  INFO   server\n":                        {"INFO", "server"},
		"\r\n*0\r\n*-1\r\n \r\nPING\r\n":           {"PING"},
		"PING " + long + "\r\n":                    {"PING", long},
		"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n": {"PING"},
	} {
		got, err := resp.ReadCommand(bufio.NewReader(strings.NewReader(text)))
		require.NoError(t, err, "%.40q", text)
		assert.Equal(t, want, got, "%.40q", text)
		for i := range min(len(text)-1, 100) {
			if got, err = resp.ReadCommand(bufio.NewReader(strings.NewReader(text[:i]))); err != nil {
				assert.True(t, cutShort(err), "%.40q: %v", text[:i], err)
				assert.Nil(t, got)
			}
		}
	}
}

func TestWhatIsNoCommand(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"*x\r\n", "*1048577\r\n", "*1\r\n+OK\r\n", "*1\r\n\r\n", "*1\r\n$x\r\n", "*1\r\n$-1\r\n",
	} {
		args, err := resp.ReadCommand(bufio.NewReader(strings.NewReader(text + "PING\r\n")))
		require.ErrorIs(t, err, resp.ErrCommand, "%q", text)
		assert.Nil(t, args)
	}
	_, err := resp.ReadCommand(bufio.NewReader(strings.NewReader("*1\r\n$100000\r\nabc")))
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
