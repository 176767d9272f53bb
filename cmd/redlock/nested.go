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
// process. It asks the masters until a majority has answered, or ctx ends. With --try this process does not wait, and
// readers and permits may be granted together, unless such redlocks have all permits.
func waitsForItself(ctx context.Context, locker *redlock.Locker, f *runFlags, name string) error {
	outer := outerTokens()[name]
	if len(outer) == 0 || f.once() {
		return nil
	}
	holding, err := locker.Inspect(ctx, name)
	for ; err != nil; holding, err = locker.Inspect(ctx, name) {
		select {
		case <-time.After(showEvery):
		case <-ctx.Done():
			return nil
		}
	}
	most := 0 // how many outer holders leave room for this one
	switch {
	case f.shared && holding.Kind == "reader":
		return nil
	case f.slots > 0 && holding.Kind == "semaphore":
		most = holding.Slots - 1
	}
	for _, h := range holding.Holders {
		if slices.Contains(outer, h.Token) {
			most--
		}
	}
	if most >= 0 {
		return nil
	}
	return &exit{exitUsage, fmt.Errorf("%s is held by the redlock that started this command and waits for it: "+
		"use another name, or leave the inner redlock out; if the outer one does not wait for this command, "+
		"unset %s, %s and %s", quote(name), nameEnv, tokenEnv, outerEnv)}
}
