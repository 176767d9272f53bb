package link

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
)

// fakeExaminer is a connection to an address.
type fakeExaminer struct {
	examiner
	addr net.Addr
}

func (f fakeExaminer) remote() net.Addr { return f.addr }

func TestTheAddressOfTheOtherEnd(t *testing.T) {
	t.Parallel()
	for want, addr := range map[string]net.Addr{
		"10.0.0.1": &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 6379}, "::1": &net.TCPAddr{IP: net.IPv6loopback, Port: 1},
	} {
		assert.Equal(t, want, (&Connection{fakeExaminer{addr: addr}}).Remote())
	}
	for _, addr := range []net.Addr{
		nil, &net.UnixAddr{Net: "unix", Name: "/run/redis"}, &net.UnixAddr{Net: "unix", Name: "host:1"},
		&net.UnixAddr{Net: "unix", Name: "10.0.0.1"},
	} {
		assert.Empty(t, (&Connection{fakeExaminer{addr: addr}}).Remote(), "%v", addr)
	}
}

// fakePipeline executes nothing. Each command fails with its entry of errs, and the pipeline with all of them and err.
type fakePipeline struct {
	redis.Pipeliner
	cmds []redis.Cmder
	errs []error
	err  error
}

func (*fakePipeline) Process(context.Context, redis.Cmder) error { return nil }

func (f *fakePipeline) Do(ctx context.Context, args ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetErr(f.errs[len(f.cmds)])
	f.cmds = append(f.cmds, cmd)
	return cmd
}

func (f *fakePipeline) Pipelined(_ context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error) {
	_ = fn(f)
	return f.cmds, errors.Join(append(f.errs, f.err)...)
}

// A failed handshake is the error of every command; a failed command is only its own.
func TestTheErrorsOfAnswers(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]struct {
		errs [2]error
		err  error
		want [2]bool
	}{
		"none":                 {},
		"of the first command": {errs: [2]error{errBroken, nil}, want: [2]bool{true, false}},
		"of the last command":  {errs: [2]error{nil, errBroken}, want: [2]bool{false, true}},
		"of the handshake":     {err: errBroken, want: [2]bool{true, true}},
	} {
		c := &Connection{&clientExaminer{client: &fakePipeline{errs: f.errs[:], err: f.err}}}
		for i, a := range c.DoAll(t.Context(), [][]any{{"ping"}, {"ping"}}) {
			assert.Equal(t, f.want[i], a.Err != nil, "%s: %v", name, a.Err)
		}
	}
}
