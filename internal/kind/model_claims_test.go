package kind_test

const first, second = "x", "y" // the names

// pool returns groups of claims to choose from. The claims of a group interact: two share an owner, and a writer and a
// reader share a token.
func pool() [][]claim {
	one := func(k, owner, digit string) claim {
		return claim{Kind: k, Names: []string{first}, Token: tokenOf(owner, digit)}
	}
	of := func(c claim, names ...string) claim {
		c.Names = names
		return c
	}
	waiting := func(c claim, intent string) claim {
		c.Intent = intent
		return c
	}
	slot := func(n int, digit string) claim {
		return claim{Kind: "semaphore", Names: []string{first}, Token: tokenOf("s", digit), Slots: 3, Slot: n}
	}
	other := claim{Kind: "semaphore", Names: []string{first}, Token: tokenOf("s", "7"), Slots: 1, Slot: 1}
	long := tokenOf("one", "4")
	return [][]claim{
		{one("mutex", "m", "1")},
		{waiting(one("mutex", "m", "2"), "intent 3"), one("reader", "m", "2")},
		{of(one("mutex", "m", "3"), first, second), of(one("mutex", "m", "4"), second)},
		{
			waiting(of(one("mutex", "m", "5"), first, second), "intent 4"), one("reader", "m", "5"),
			of(one("reader", "m", "6"), second), of(waiting(one("writer", "m", "7"), "intent 5"), second),
		},
		{one("reader", "r", "1")},
		{one("reader", "r", "2"), one("reader", "r", "3")},
		{
			waiting(one("writer", "w", "1"), "intent 1"), one("reader", "w", "1"),
			waiting(one("writer", "w", "2"), "intent 2"), one("reader", "w", "2"),
		},
		{one("writer", "w", "3")},
		{one("reentrant", "one", "1")},
		{waiting(one("reentrant", "one", "2"), "intent 6"), one("reentrant", "one", "3"), one("reader", "one", "2")},
		{slot(1, "1"), slot(1, "2"), slot(2, "3")},
		{slot(2, "4"), slot(3, "5")},
		{slot(1, "6"), other},
		{one("reentrant", "one", "4"), one("reentrant", long, "1"), one("reentrant", long, "2")},
	}
}
