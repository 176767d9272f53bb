package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/redlock-go/redlock"
)

// outerEnv has the name and token of each lock under which this redlock runs, encoded like the query of a URL, except
// the innermost lock, which nameEnv and tokenEnv have.
const outerEnv = "REDLOCK_OUTER"

// outerTokens returns the tokens of the locks under which this process runs, by name.
func outerTokens() url.Values {
	outer, _ := url.ParseQuery(os.Getenv(outerEnv))
	if name, token := os.Getenv(nameEnv), os.Getenv(tokenEnv); name != "" && token != "" {
		outer.Add(name, token)
	}
	return outer
}

// waitsForItself returns an error if this process waits for a lock that is held by a redlock which waits for this
// process. It asks the masters again and again until ctx ends: the lock may be on none while they restart. With --try
// this process does not wait, and readers and permits may be granted together, unless such redlocks have all permits.
func waitsForItself(ctx context.Context, locker *redlock.Locker, f *runFlags, name string) error {
	outer := outerTokens()[name]
	if len(outer) == 0 || f.once() {
		return nil
	}
	for {
		holding, err := locker.Inspect(ctx, name)
		if err == nil && excludes(holding, outer, f) {
			break
		}
		select {
		case <-time.After(showEvery):
		case <-ctx.Done():
			return nil
		}
	}
	return &exit{exitUsage, fmt.Errorf("%s is held by the redlock that started this command and waits for it: "+
		"use another name, or leave the inner redlock out; if the outer one does not wait for this command, "+
		"unset %s, %s and %s", quote(name), nameEnv, tokenEnv, outerEnv)}
}

// excludes reports whether the holders whose tokens are in outer exclude the lock of f.
func excludes(holding redlock.Holding, outer []string, f *runFlags) bool {
	most := 0 // how many outer holders leave room for this lock
	switch {
	case f.shared && holding.Kind == "reader":
		return false
	case f.slots > 0 && holding.Kind == "semaphore":
		most = holding.Slots - 1
	}
	return holds(holding.Holders, outer) > most
}

// holds counts the holders whose tokens are in outer.
func holds(holders []redlock.Holder, outer []string) (n int) {
	for _, h := range holders {
		if slices.Contains(outer, h.Token) {
			n++
		}
	}
	return n
}
