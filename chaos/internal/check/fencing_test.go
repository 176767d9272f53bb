package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/handmade"
)

func TestFencing(t *testing.T) {
	t.Parallel()
	rows{
		"larger than the one before": {"a holds 10-20 #5; b holds 30-40 asked=11 #6", ""},
		"asked for before the other returned, which had ended": {
			"a holds 10-20 #6; b holds 30-40 asked=9 #5", "which had ended at 0.020 s",
		},
		"asked for before the other returned, which ended before it returned": {
			"a keeps 10-10 #6; b holds 30-40 #5", "which had ended at 0.010 s",
		},
		"returned after its deadline, when the next one has ended": {"a keeps 100-50 #5; b holds 70-90 asked=60 #6", ""},
		"the same, but its deadline is after the end of the next one": {
			"b holds 70-75 asked=60 #6; a keeps 100-80 #5", "which had ended at 0.075 s",
		},
		"the same where a fault reorders tokens: no order": {
			"evict lasts 1-5; a holds 10-20 #6; b holds 30-40 asked=9 #5", "",
		},
		"asked for in the moment in which the other returned": {
			"a holds 10-20 #6; b holds 30-40 asked=10 #5", "not larger than the 6",
		},
		"smaller than the one before": {
			"a holds 10-20 #6; b holds 30-40 asked=11 #5", "got the token 5, not larger than the 6 that a.0/worker 0/op 1 had",
		},
		"the same as the one before": {
			"a holds 10-20 #5; b holds 30-40 asked=11 #5", "not larger than the 5 | both got the token 5",
		},
		"smaller than one long before, larger than the last": {
			"a holds 10-20 #9; b holds 30-40 asked=21 #10; c holds 50-60 #3; d holds 70-80 asked=61 #8",
			"got the token 8, not larger than the 10 | c.0/worker 0/op 1 got the token 3, not larger than the 10",
		},
		"the same while both were asked for":         {"a holds 10-20 #5; b holds 30-40 #5", "both got the token 5"},
		"a holder without a token has no part in it": {"a holds 10-20 #5; b holds 30-40 asked=21", ""},
		"of another name":                            {"a holds 10-20 #6; b holds 30-40 asked=21 #5 name=invoices", ""},
		"a token was asked for, and none given": {
			"a holds 10-20 #5; b holds 30-40 asked=21 fenced", "b.0/worker 0/op 1 asked for a fencing token, and got none",
		},
		"a token was asked for, and given":   {"a holds 10-20 fenced #5", ""},
		"a token was asked for, and refused": {"a refused 5 fenced", ""},

		"readers share the writer's": {
			"a holds 10-20 writer #5; b holds 30-40 asked=21 reader #5; c holds 30-40 asked=21 reader #5;" +
				"d holds 50-60 asked=41 writer #6", "",
		},
		"a later reader with less than an earlier one": {
			"a holds 10-20 reader #6; b holds 30-40 asked=21 reader #5", "",
		},
		"a reader with less than the writer before": {
			"a holds 10-20 writer #5; b holds 30-40 asked=21 reader #4", "smaller than the 5",
		},
		"a writer with no more than the reader before": {
			"a holds 10-20 reader #5; b holds 30-40 asked=21 writer #5", "not larger than the 5",
		},
		"a writer with no more than a reader that had ended": {
			"a holds 10-20 reader #6; b holds 30-40 writer #6", "not larger than the 6 of a.0",
		},
		"a mutex with no more than one of several": {
			"a holds 10-20 names=x,orders #5; b holds 30-40 asked=21 #5", "not larger than the 5 | both got the token 5",
		},
		"the owner is back, and has its old one": {"a holds 10-20 owner=o #5; a holds 30-40 op=2 owner=o #5", ""},
		"the owner is back after another, and has its old one": {
			"a holds 10-20 owner=o #5; b holds 30-40 asked=21 #6; a holds 50-90 op=2 asked=41 owner=o #5",
			"not larger than the 6",
		},
		"another owner has the same": {"a holds 10-20 owner=o #5; b holds 30-40 owner=p #5", "both got the token 5"},

		"a permit, larger": {"a holds 10-100 slots=2 #7; b holds 30-90 asked=20 slots=2 #8", ""},
		"a permit, smaller, asked for at the same time": {
			"a holds 10-20 slots=2 #7; b holds 30-90 asked=5 slots=2 #6", "",
		},
		"a permit, smaller": {
			"a holds 10-100 slots=2 #7; b holds 30-90 asked=20 slots=2 #6", "not larger than the 7",
		},
		"a permit, the same, asked for at the same time": {
			"a holds 10-100 slots=2 #7; b holds 30-90 asked=5 slots=2 #7", "both got the token 7",
		},
	}.judgedBy(t, on(check.Terms{Reordering: []string{"evict"}}, check.Fencing))
}

// A leader's term is its fencing token. These faults break exclusion, or lose counters.
func TestLeaders(t *testing.T) {
	t.Parallel()
	rows{
		"terms that grow": {"a holds 10-50 leader #7; b holds 60-90 asked=20 leader #8", ""},
		"without a term":  {"a holds 10-50 leader", "asked for a fencing token, and got none"},
		"twice one term":  {"a holds 10-50 leader #7; b holds 60-90 leader #7", "both got the token 7"},
		"a smaller term": {
			"a holds 10-50 leader #7; b holds 80-90 asked=70 leader #6",
			"b.0/worker 0/op 1 got the token 6, not larger than the 7 that a.0",
		},
		"a smaller term of one who campaigned before, and led afterwards": {
			"a holds 10-50 leader #7; b holds 60-90 asked=5 leader #6", "got the token 6",
		},
		"the same, when counters were lost": {
			"evict injected 1; a holds 10-50 leader #7; b holds 60-90 asked=5 leader #6", "",
		},
		"a smaller term of one who campaigned before, when a master's clock jumped": {
			"clock-forward injected 20; a holds 300-500 leader #1000; b holds 61-62 asked=60 leader #1060", "",
		},
		"the same, without any fault": {
			"a holds 300-500 leader #1000; b holds 61-62 asked=60 leader #1060", "got the token 1000",
		},
		"a smaller term, when a master's clock jumped": {
			"clock-forward injected 20; a holds 10-50 leader #7; b holds 60-90 asked=20 leader #6", "got the token 6",
		},
		"a smaller term of one who campaigned before, when something else broke": {
			"freeze injected 1; a holds 10-50 leader #7; b holds 60-90 asked=5 leader #6", "got the token 6",
		},
		"a smaller term of another leader at the same time": {
			"a holds 10-50 leader #7; b holds 20-90 asked=5 leader #6", "",
		},
	}.judgedBy(t, on(check.Terms{Reordering: []string{"evict", "clock-forward"}}, check.Fencing))
}

// The findings are about an inner hold of an owner, or about a later one.
func TestOwned(t *testing.T) {
	t.Parallel()
	rows{
		"an inner hold has the outer one's": {"a holds 10-90 owner=o #5; a holds 30-40 asked=20 op=2 owner=o #5", ""},
		"an inner hold has a larger one": {
			"a holds 10-90 owner=o #5; a holds 30-40 asked=20 op=2 owner=o #6", "o holds it already",
		},
		"an inner hold that outlives the outer one keeps its own": {
			"a holds 10-35 owner=o #5; a holds 30-90 asked=20 op=2 owner=o #5; a holds 50-60 asked=40 op=3 owner=o #5", "",
		},
		"a hold that outlived the outer one, and another token": {
			"a holds 10-35 owner=o #5; a holds 30-90 asked=20 op=2 owner=o #5; a holds 50-60 asked=40 op=3 owner=o #6",
			"o holds it already",
		},
		"the outer one was not the only one to be asked for": {
			"a holds 10-90 owner=o #5; b holds 15-16 asked=5 owner=o #6; c holds 30-40 asked=20 owner=o #6", "",
		},
		"nor if another attempt, which was refused, overlapped it": {
			"b refused 5 owner=o; a holds 10-90 asked=4 owner=o #5; c holds 30-40 asked=20 owner=o #6", "",
		},
		"nor if another attempt, which never returned, overlapped it": {
			"b asks 0 owner=o; a holds 10-90 asked=4 owner=o #5; c holds 30-40 asked=20 owner=o #6", "",
		},
		"what never returned is over when its worker asks again": {
			"b asks 0 owner=o; b holds 3-4 asked=2 op=2; a holds 10-90 asked=4 owner=o #5; c holds 30-40 asked=20 owner=o #6",
			"o holds it already",
		},
		"another owner asked meanwhile": {
			"b asks 5 owner=p; a holds 10-90 asked=4 owner=o #5; c holds 30-40 asked=20 owner=o #6", "o holds it already",
		},
		"the longer one was not alone, another was": {
			"x refused 11 owner=o; a holds 10-90 asked=1 owner=o #5; b holds 15-80 asked=12 owner=o #6;" +
				"c holds 30-40 asked=20 owner=o #7", "o holds it already as b",
		},
		"the outer one ends while the inner one is asked for: a new ownership": {
			"a holds 10-25 owner=o #5; a holds 30-90 asked=20 op=2 owner=o #6", "",
		},
		"the owner is back, and has less": {
			"a holds 10-20 owner=o #5; a holds 40-90 asked=30 op=2 owner=o #4", "smaller than the 5",
		},
		"holds without a token have no part in it": {"a holds 10-90 owner=o #5; a holds 30-40 asked=20 op=2 owner=o", ""},
	}.judgedBy(t, check.Owned)
}

func TestReadersInOrder(t *testing.T) {
	t.Parallel()
	rows{
		"smaller": {
			"a holds 10-20 reader #6; b holds 30-40 asked=11 reader #5", "got the token 5, smaller than the 6",
		},
		"smaller than one long before": {
			"a holds 10-20 reader #6; b holds 12-20 asked=11 reader #6; c holds 40-50 asked=31 reader #5", "smaller than the 6",
		},
		"the same":                    {"a holds 10-20 reader #5; b holds 30-40 asked=11 reader #5", ""},
		"asked for before the return": {"a holds 10-20 reader #6; b holds 30-40 asked=9 reader #5", ""},
		"of another name":             {"a holds 10-20 reader #6; b holds 30-40 asked=11 reader #5 name=other", ""},
		"after a writer's":            {"a holds 10-20 writer #6; b holds 30-40 asked=11 reader #5", ""},
		"without fencing":             {"a holds 10-20 reader #6; b holds 30-40 asked=11 reader", ""},
		"with one in between": {
			"a holds 10-20 reader #6; b holds 12-13 asked=11 reader #7; c holds 40-50 asked=31 reader #6", "smaller than the 7",
		},
	}.judgedBy(t, check.ReadersInOrder)
}

func TestRegister(t *testing.T) {
	t.Parallel()
	const leaders = "a keeps 10-50 leader #7; b keeps 60-90 leader #8; "
	rows{
		"each made of the one before": {
			"a writes 1 #5 value=1; a writes 2 #5 from=1 value=2; b writes 3 #1 value=1 name=invoices;" +
				"a writes 4 #7 from=2 value=3", "",
		},
		"a smaller token": {
			"a writes 1 #5 value=1; a writes 2 #4 from=1 value=2", "took a write with the token 4 after one with 5",
		},
		"an update lost":                    {"a writes 1 #5 value=1; a writes 2 #6 value=1", "an update is lost"},
		"the first was not made of nothing": {"a writes 1 #5 from=3 value=4", "the fenced register had 0"},
		"a rejected one is no write":        {"a writes 1 #5 value=1; a rejected 2 #4 value=2", ""},
		"the trusting register is hurt":     {"a writes 1 trusting #5 value=1; a writes 2 trusting #4 value=1", ""},

		"a write of a mutex's holder under a smaller token": {
			"a keeps 10-50 #7; b keeps 60-90 #8; b reads 61 #8; a writes 70 #7", "",
		},
		"a leader's write, and then its successor's": {
			leaders + "a writes 55 #7; b reads 61 #8; b writes 62 #8", "",
		},
		"a deposed leader's write after its successor has read": {
			leaders + "b reads 61 #8; a writes 70 #7",
			"the register took a write of a.0/worker 0/op 1, leader of term 7, at 0.070 s, after b.0/worker 0/op 1, leader " +
				"of term 8, had used it at 0.061 s",
		},
		"a deposed leader's write under the new term": {
			leaders + "b writes 61 #8; a writes 70 #8", "leader of term 7",
		},
		"a deposed leader's write is rejected": {leaders + "b reads 61 #8; a rejected 70 #7", ""},
	}.judgedBy(t, check.Register)

	v := check.Register(handmade.History(
		"a writes 1 trusting value=1; a writes 2 trusting value=1; a writes 3 trusting from=1 value=2"))
	assert.Contains(t, v.Looked, "trusting register: 1 of 3 writes lost an update")
}
