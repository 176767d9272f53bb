package register

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
)

// ErrRejected means that the register has seen a larger fencing token. The write had no effect.
var ErrRejected = errors.New("rejected")

// Client is a client of a register. It is safe for concurrent use, and sends one question at a time.
//
// Client sets no deadline. The register is part of the harness and always answers. With a deadline, a process that was
// frozen in the middle of a question would mistake its own pause for a failure of the register, and ask twice.
type Client struct {
	mu      sync.Mutex
	conn    net.Conn
	answers *bufio.Scanner
}

// Dial connects to the register at addr.
func Dial(addr string) (*Client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	return &Client{conn: conn, answers: bufio.NewScanner(conn)}, nil
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Read returns the counter of q.Name.
func (c *Client) Read(q Question) (int64, error) {
	q.Do = read
	a, err := c.ask(q)
	return a.Value, err
}

// Write sets the counter of q.Name to q.Value, which was computed from q.From. It returns ErrRejected if the register
// refuses the write.
func (c *Client) Write(q Question) error {
	q.Do = write
	a, err := c.ask(q)
	if err == nil && a.Rejected != "" {
		return fmt.Errorf("%w: %s", ErrRejected, a.Rejected)
	}
	return err
}

func (c *Client) ask(q Question) (Answer, error) {
	line, err := json.Marshal(q)
	if err != nil {
		return Answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.conn.Write(append(line, '\n')); err != nil {
		return Answer{}, fmt.Errorf("register: %w", err)
	}
	if !c.answers.Scan() {
		return Answer{}, fmt.Errorf("register: it hung up: %w", errors.Join(net.ErrClosed, c.answers.Err()))
	}
	var a Answer
	if err := json.Unmarshal(c.answers.Bytes(), &a); err != nil {
		return Answer{}, fmt.Errorf("register: %w", err)
	}
	if a.Wrong != "" {
		return Answer{}, fmt.Errorf("register: %s", a.Wrong)
	}
	return a, nil
}
