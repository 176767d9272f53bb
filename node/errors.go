package node

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/replyerr"
)

var (
	// ErrTimeout reports that the master did not answer by the request's deadline.
	ErrTimeout = errors.New("no answer in time")
	// ErrDropped reports that the request was canceled or late, or its lease had ended, before it was written.
	ErrDropped = errors.New("not sent: it was no longer wanted")
	// ErrBusy reports that too many requests wait for the master.
	ErrBusy = errors.New("not sent: too many requests wait for this master")
	// ErrClosed reports that the node was closed.
	ErrClosed = errors.New("the node is closed")
	// ErrBound reports that the node belongs to a Locker already.
	ErrBound = errors.New("the node belongs to a locker already: make one node for each locker")
	// ErrNotRedis reports that the server does not speak the Redis protocol.
	ErrNotRedis = errors.New("this is not a Redis server: check the address, and the scheme (rediss:// for TLS)")
)

// SuspectError reports that a master was not asked because it failed shortly before.
type SuspectError struct {
	// Err is that failure.
	Err error
}

func (e *SuspectError) Error() string { return "not asked, it failed a moment ago: " + e.Err.Error() }

// Unwrap returns Err.
func (e *SuspectError) Unwrap() error { return e.Err }

// RestartError reports that a grant does not count: the server has restarted and may have forgotten earlier grants.
type RestartError struct {
	// Left is how long it takes until its grants count.
	Left time.Duration
}

func (e *RestartError) Error() string {
	return fmt.Sprintf("restarted within the restart window and may have forgotten locks: it may vote in %v",
		max(time.Millisecond, e.Left.Round(time.Millisecond)))
}

// IdentityError reports that a server does not identify itself, so that a restart would go unnoticed.
type IdentityError struct {
	// Err is the reply to INFO.
	Err error
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("INFO server does not report run_id and uptime_in_seconds (%v), "+
		"so a restart that loses locks would go unnoticed: "+
		"allow INFO to this user, or switch the guard off with WithoutRestartGuard", e.Err)
}

// Unwrap returns Err.
func (e *IdentityError) Unwrap() error { return e.Err }

// RightError reports that a master was not asked for a lock because it refuses the script that would release the lock.
type RightError struct {
	// Err is the master's error reply to the script.
	Err error
}

func (e *RightError) Error() string {
	return fmt.Sprintf("not asked, since it refuses the scripts that release a lock: %v: "+
		"allow EVALSHA, EVAL and the commands of the scripts to this user", e.Err)
}

// Unwrap returns Err.
func (e *RightError) Unwrap() error { return e.Err }

// RoleError reports that a server was not asked, or that its grant does not count, because it is not a master.
type RoleError struct {
	// Role is what the server reports in INFO, such as "slave".
	Role string
}

func (e *RoleError) Error() string {
	return fmt.Sprintf("its role is %q: give the address of a master", e.Role)
}

// SeveralServersError reports that a server was not asked, or that its grant does not count, because connections to the
// address of this master reach several servers.
type SeveralServersError struct {
	// RunIDs are the run ids of two of them.
	RunIDs [2]string
}

func (e *SeveralServersError) Error() string {
	return fmt.Sprintf("its address leads to several servers (run_id %.8s… and %.8s…): "+
		"give each master an address of its own", e.RunIDs[0], e.RunIDs[1])
}

// RefusalError reports that a master answers but refuses releases, or that it no longer does. If the master is not
// asked for locks, because it refuses the script that would release them, is no master, or is one of several servers,
// Err is a *[RightError], a *[RoleError] or a *[SeveralServersError].
type RefusalError struct {
	// Err is the master's error reply, a *RightError around it, a *RoleError, or a *SeveralServersError.
	Err error
	// Over is set if the master no longer refuses.
	Over bool
}

func (e *RefusalError) Error() string {
	if e.Over {
		return "no longer: " + e.Err.Error()
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *RefusalError) Unwrap() error { return e.Err }

// SubscriptionError reports that a master refuses or ends subscriptions, so that waiters are not woken by its messages.
type SubscriptionError struct {
	// Err is the master's error reply, or why the connection ended.
	Err error
}

func (e *SubscriptionError) Error() string { return "no subscription: " + e.Err.Error() }

// Unwrap returns Err.
func (e *SubscriptionError) Unwrap() error { return e.Err }

// Permanent reports whether only an operator can fix the cause of err: a wrong password, a missing right, INFO refused,
// a database that the server lacks, protected mode, a certificate that the client or the server does not accept, a
// server that is not Redis or does not use TLS as the URL says, fencing tokens that are used up, or keys that a Redis
// Cluster keeps in different slots. Every other error may go away by itself.
func Permanent(err error) bool {
	var identity *IdentityError
	var certificate *tls.CertificateVerificationError
	var right *RightError
	var plain tls.RecordHeaderError
	var login interface{ Permanent() bool }
	return errors.Is(err, ErrNotRedis) || errors.As(err, &identity) || errors.As(err, &certificate) ||
		errors.As(err, &plain) || errors.As(err, &login) && login.Permanent() ||
		replyerr.RejectsCertificate(err) || errors.As(err, &right) || redis.IsAuthError(err) ||
		replyerr.HasPrefix(err, "WRONGPASS", "NOAUTH", "NOPERM", "CROSSSLOT", "DENIED", "ERR DB index") ||
		refusedInScript(err) || fenceUsedUp(err)
}

// refusedInScript reports whether err is the reply to a script that may not run one of its commands. The reply has no
// error code of its own, and its text has changed after Redis 7.0.
func refusedInScript(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) &&
		(strings.Contains(reply.Error(), "The user executing the script can't") ||
			strings.Contains(reply.Error(), "ACL failure in script"))
}

// fenceUsedUp reports whether err is the reply of a script whose counter of fencing tokens is at its limit. Some
// versions of Redis put the position in the script before the text.
func fenceUsedUp(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && strings.Contains(reply.Error(), "USEDUP the fencing tokens of ")
}
