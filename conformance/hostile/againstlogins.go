package main

import (
	"context"
	"fmt"
	"strings"
)

// loginAttacks make the server hash, and write about it.
var loginAttacks = []attack{
	{
		name:  "wrong passwords",
		shows: "50 logins at once, of names that exist and that do not",
		short: 0.05,
		run:   wrongPasswords,
	},
	{name: "long names", shows: "names of a megabyte in logins, which end up in the log", short: 0.2, run: longNames},
}

// wrongPasswords tries passwords for unknown names and for the innocent user, whose requests run
// meanwhile: hashes are slow on purpose, so guesses must not use up the processor, and the lockout
// of the attacker's address must not lock her out.
func wrongPasswords(ctx context.Context, a *assault) error {
	together(a.n(50), func(i int) {
		for n := range a.n(10) {
			name := fmt.Sprintf("unknown-%d-%d", i, n)
			if n%2 == 0 {
				name = innocentName // from another address than hers
			}
			a.send(ctx, request{
				method: "POST",
				path:   "/_session",
				as:     nobody,
				body:   text(fmt.Sprintf(`{"name":%q,"password":"wrong"}`, name)),
			}, 401, 403, 429, 503)
			a.send(ctx, request{method: "GET", path: "/_all_dbs", as: account{name, "wrong"}}, 401, 403, 429, 503)
		}
	})
	return nil
}

func longNames(ctx context.Context, a *assault) error {
	name := strings.Repeat("n", a.n(1_000_000))
	login := func(body string, headers ...string) {
		r := request{method: "POST", path: "/_session", as: nobody, headers: headers, body: text(body)}
		a.send(ctx, r, 400, 401, 413, 503)
	}
	together(a.n(16), func(int) {
		login(`{"name":"` + name + `","password":"a"}`)
		login("name="+name+"&password=a", "Content-Type", "application/x-www-form-urlencoded")
		login(`{"name":"` + name[:min(len(name), 60_000)] + `","password":"a"}`)
		a.send(ctx, request{method: "GET", path: "/", as: account{name[:min(len(name), 5000)], "a"}}, 401, 403, 429,
			503)
		a.send(ctx, request{method: "GET", path: "/" + name[:min(len(name), 7000)]}, append(refusals, 200)...)
	})
	return nil
}
