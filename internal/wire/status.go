package wire

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/resp"
)

// Status is what a server reports about itself.
type Status struct {
	Role, Version string
	Uptime        time.Duration
	// Loading reports that the server is loading its dataset and refuses commands meanwhile.
	Loading bool
}

// StatusOp returns an operation that reads a server's [Status] into the vote's Data.
func StatusOp() *Op {
	o := Command("status", readStatus, "info")
	o.anyRole = true
	return o
}

func readStatus(reply any) Vote {
	text, ok := reply.(string)
	if !ok {
		return BadReply(reply)
	}
	fields := resp.ParseInfo(text)
	if fields["role"] == "" {
		return unknown(errNoRole)
	}
	uptime, _ := link.Uptime(fields)
	version := fields["redis_version"]
	if v := fields["valkey_version"]; v != "" {
		version = "valkey " + v
	}
	return Vote{Verdict: Granted, Data: Status{
		Role: fields["role"], Version: version, Uptime: uptime, Loading: fields["loading"] == "1",
	}}
}

var errNoRole = errors.New("INFO reports no role: allow the whole of INFO to this user")
