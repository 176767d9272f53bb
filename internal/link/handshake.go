package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/node"
)

// A step of a handshake is a command and what its reply, which may be a [resp.Error], means. All steps are sent in one
// write, so a handshake takes one round trip.
type step struct {
	command []any
	accept  func(reply any) error
}

// handshake sends the steps over a new connection, between those that log in and select the database, and that which
// names the client.
func (d *dialer) handshake(ctx context.Context, conn net.Conn, steps ...step) (*session, error) {
	login, password, err := d.login(ctx)
	if err != nil {
		return nil, err
	}
	s := newSession(conn, Server{})
	steps = append(login, steps...)
	if name := d.options.ClientName; name != "" { // last: the first reply may be why the server refuses the connection
		steps = append(steps, step{[]any{"client", "setname", name}, acceptAnything})
	}
	for _, st := range steps {
		s.Put(resp.AppendCommand(nil, st.command))
	}
	s.password = password
	_ = s.Flush() // even if it failed, the server may have said why
	for _, st := range steps {
		reply, _, err := s.read()
		if err == nil {
			if refusal, ok := reply.(resp.Error); ok {
				text := string(refusal)
				if st.command[0] == "auth" { // an unknown command is answered with its arguments, which are cut off
					text, _, _ = strings.Cut(text, ", with args beginning with")
				}
				reply = resp.Error(hide(text, password))
			}
			err = st.accept(reply)
		}
		if err != nil {
			return nil, &stepError{command: st.command[0].(string), err: err}
		}
	}
	if s.in.Buffered() > 0 {
		return nil, ErrUnasked
	}
	return s, nil
}

// login returns the steps that every connection begins with, and the password that no error may show.
func (d *dialer) login(ctx context.Context) (steps []step, password string, err error) {
	o := d.options
	user, password := o.Username, o.Password
	if get := o.CredentialsProviderContext; get != nil {
		if user, password, err = get(ctx); err != nil {
			return nil, "", &credentialsError{err}
		}
	}
	switch {
	case user != "":
		steps = append(steps, step{[]any{"auth", user, password}, acceptOK})
	case password != "":
		steps = append(steps, step{[]any{"auth", password}, acceptPassword})
	}
	if o.DB > 0 {
		steps = append(steps, step{[]any{"select", o.DB}, acceptOK})
	}
	return steps, password, nil
}

// identify is the handshake of a connection for requests. It identifies the server, and checks whether this user may
// run scripts. A proxy may end the connection at that check, which is then left out on later connections.
func (d *dialer) identify(ctx context.Context, conn net.Conn) (*session, error) {
	var info, replication string
	var refused error // of INFO
	var right ScriptRight
	steps := []step{askInfo(&info, &refused), {[]any{"info", "replication"}, func(reply any) error {
		replication, _ = acceptText(reply) // without it the role is unknown
		return nil
	}}}
	d.mu.Lock()
	skip := d.skipRightCheck
	d.mu.Unlock()
	if !skip {
		steps = append(steps, step{[]any{"evalsha", NoScript, 0}, func(reply any) error {
			err, _ := reply.(error)
			right = rightOf(err)
			return nil
		}})
	}
	s, err := d.handshakeSeen(ctx, conn, &info, steps...)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		var at *stepError
		if errors.As(err, &at) && at.command == "evalsha" && ended(at.err) && ctx.Err() == nil {
			d.skipRightCheck = true
			return nil, errRightCheck
		}
		return nil, err
	}
	identity := d.known.learn(info+"\n"+replication, refused, d.clock.Now())
	identity.Scripts = right
	s.identity, s.known = &identity, &d.known
	return s, nil
}

// askInfo is the step that reads INFO server into info, or why the server refuses that into refused. It fails if the
// server refuses the connection.
func askInfo(info *string, refused *error) step {
	return step{[]any{"info", "server"}, func(reply any) (err error) {
		*info, err = acceptText(reply)
		if refusesInfo(err) {
			*refused, err = err, nil
		}
		return err
	}}
}

// handshakeSeen is a handshake whose steps read INFO server into info. It reports the server that it saw.
func (d *dialer) handshakeSeen(ctx context.Context, conn net.Conn, info *string, steps ...step) (*session, error) {
	asked := d.clock.Now()
	s, err := d.handshake(ctx, conn, steps...)
	if err != nil {
		return nil, err
	}
	s.identity.RunID = resp.ParseInfo(*info)["run_id"]
	d.saw(Observation{RunID: s.identity.RunID, Asked: asked, Answered: d.clock.Now()})
	return s, nil
}

// errRightCheck is the error of a handshake whose connection ended at the check of the right to run scripts.
var errRightCheck = errors.New("the connection ended at EVALSHA")

// stepError is the error of a step of a handshake.
type stepError struct {
	command string
	err     error
}

func (e *stepError) Error() string { return e.err.Error() }

func (e *stepError) Unwrap() error { return e.err }

// Permanent reports whether the server answered that it cannot execute AUTH or SELECT at all, not only at the moment.
func (e *stepError) Permanent() bool {
	return (e.command == "auth" || e.command == "select") && replyerr.HasPrefix(e.err, "ERR") &&
		!replyerr.HasPrefix(e.err, "ERR max number of clients")
}

func acceptAnything(any) error { return nil }

func acceptOK(reply any) error {
	if text, err := acceptText(reply); err != nil || text == "OK" {
		return err
	}
	return fmt.Errorf("%w: it did not answer OK", node.ErrNotRedis)
}

// acceptPassword accepts the reply to a password without a user, which a server without a password does not need.
func acceptPassword(reply any) error {
	err := acceptOK(reply)
	if replyerr.HasPrefix(
		err, "ERR AUTH <password> called without any password", "ERR Client sent AUTH, but no password is set",
	) {
		return nil
	}
	return err
}

func acceptText(reply any) (string, error) {
	switch reply := reply.(type) {
	case string:
		return reply, nil
	case resp.Error:
		return "", reply
	default:
		return "", fmt.Errorf("%w: its reply is no text", node.ErrNotRedis)
	}
}

// hide replaces the password in what a server said; an empty one is in every text.
func hide(text, password string) string {
	if password == "" {
		return text
	}
	return strings.ReplaceAll(text, password, "xxxxx")
}

// greeting reads the first reply of a connection. If there is none, the error has what the server said instead.
func (s *session) greeting() (reply any, size int, err error) {
	if _, err := s.in.Peek(1); err != nil {
		return nil, 0, s.silence(err)
	}
	begun, _ := s.in.Peek(min(s.in.Buffered(), resp.MaxError))
	line, _, _ := bytes.Cut(begun, []byte("\r"))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	said := hide(string(line), s.password)
	reply, size, err = resp.Read(s.in, s.maxReply)
	const shown = 60
	switch {
	case err == nil, said != "" && strings.Contains("+-:$*", said[:1]) && !errors.Is(err, resp.ErrProtocol):
		return reply, size, err
	case strings.HasPrefix(said, "\x15\x03"): // the alert of a TLS server
		err = fmt.Errorf("%w: the server asks for TLS", node.ErrNotRedis)
	case errors.Is(err, resp.ErrTooLarge):
		err = fmt.Errorf("%w: %w", node.ErrNotRedis, err)
	default:
		err = fmt.Errorf("%w: it answers %.*q", node.ErrNotRedis, shown, said)
	}
	return nil, size, err
}

// silence returns why a connection has ended without a reply. A write may have failed before.
func (s *session) silence(err error) error {
	if replyerr.RejectsCertificate(err) || errors.Is(err, net.ErrClosed) {
		return err
	}
	if failed := s.writeErr.Load(); failed != nil {
		err = *failed
	}
	return noAnswer(err)
}

// noAnswer returns errNoAnswer if err is that of an ended connection, and otherwise err.
func noAnswer(err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errNoAnswer
	case errors.As(err, &op) && !op.Timeout():
		return fmt.Errorf("%w (%w)", errNoAnswer, op.Err)
	default:
		return err
	}
}

// errNoAnswer is the error of a server that ended a new connection without a word.
var errNoAnswer = errors.New("the server ended the connection without an answer: " +
	"see its log, check the scheme (rediss:// for TLS), and its maxclients")

// ended reports whether err is that of a connection that the other side ended, and not that of a malformed reply.
func ended(err error) bool {
	return !errors.Is(err, resp.ErrProtocol) && !replyerr.Is(err) && !errors.Is(err, node.ErrNotRedis)
}
