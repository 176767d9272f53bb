// Package integration holds the tests of redlock against five real Redis masters in containers: what an in-process
// double cannot show, because it is never killed, frozen, or cut off.
package integration
