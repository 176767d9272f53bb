package doctor_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/doctor"
)

// sound is the INFO of a sound master.
const sound = "redis_version:7.2.4\nrun_id:1\nuptime_in_seconds:1000\nrole:master\n"

// Servers that cannot run here, and fields that Redis 7.0 does not have: by the text of their INFO. The fields of
// KeyDB, Dragonfly and Valkey are those of their sources and bug reports.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		info, why string
		severity  doctor.Severity
	}{
		"is an active replica":  {"role:active-replica\nmvcc_depth:0", "its role is active-replica", doctor.Danger},
		"is too old":            {"redis_version:6.0.16", "redis_version is 6.0.16", doctor.Danger},
		"is Dragonfly or KeyDB": {"dragonfly_version:df-v1.21.2", "it is Dragonfly", doctor.Warning},
		"is Valkey":             {"server_name:valkey\nvalkey_version:8.1.1", "it is Valkey 8.1.1", doctor.Note},
		"its event loop is slow": {
			"instantaneous_eventloop_duration_usec:600000", "one cycle takes 600ms", doctor.Warning,
		},
		"has disconnected slow clients": {"client_output_buffer_limit_disconnections:3", "is 3", doctor.Warning},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			found := titled(judge(0, doctor.Seen{Name: "h:1", Info: sound + c.info}), title)
			require.Len(t, found, 1)
			assert.Equal(t, c.severity, found[0].Severity)
			assert.Contains(t, found[0].Why, c.why)
			assert.Empty(t, titles(judge(0, doctor.Seen{Name: "h:1", Info: sound})))
		})
	}
	assert.Len(t, titled(judge(0, doctor.Seen{Info: sound + "mvcc_depth:0"}), "is Dragonfly or KeyDB"), 1)
	assert.Len(
		t, titled(judge(0, doctor.Seen{Info: sound + "executable:/usr/bin/keydb-server"}), "is Dragonfly or KeyDB"), 1,
	)
}

// slowDialer makes connections on which each tenth request is 200 ms late.
func slowDialer(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	return &slowConn{Conn: conn}, err
}

type slowConn struct {
	net.Conn
	writes int
}

func (c *slowConn) Write(p []byte) (int, error) {
	if c.writes++; c.writes%10 == 0 {
		time.Sleep(200 * time.Millisecond)
	}
	return c.Conn.Write(p)
}
