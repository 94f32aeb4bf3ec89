package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// accountAttacks are about who is let in.
var accountAttacks = []attack{
	{
		name:  "open sign-up",
		shows: "where _users is open: conflicts of the administrator's name, a hash of ten million iterations",
		short: 1,
		alone: true,
		run:   openSignUp,
	},
	{
		name:  "who exists",
		shows: "names are told apart by how long a refusal takes",
		short: 1,
		alone: true,
		run:   whoExists,
	},
	{name: "forged addresses", shows: "X-Forwarded-For evades the lockout", short: 1, run: forgedAddresses},
}

// openSignUp opens _users as a server does that lets people sign up, and closes it again.
func openSignUp(ctx context.Context, a *assault) error {
	const setting = "/_node/_local/_config/couchdb/users_db_security_editable"
	before := a.send(ctx, request{method: "GET", path: "/_users/_security", as: admin, whole: true}, 200)
	a.send(ctx, request{method: "PUT", path: setting, as: admin, body: text(`"true"`)}, 200)
	a.send(ctx, request{
		method: "PUT",
		path:   "/_users/_security",
		as:     admin,
		body:   text(`{"admins":{"roles":["_admin"]},"members":{"names":[],"roles":[]}}`),
	}, 200)
	defer func() {
		ctx := context.WithoutCancel(ctx)
		a.send(ctx, request{method: "PUT", path: "/_users/_security", as: admin, body: text(before.start)}, 200)
		a.send(ctx, request{method: "PUT", path: setting, as: admin, body: text(`"false"`)}, 200)
	}()
	for i := range 3 {
		conflict := fmt.Sprintf(
			`{"new_edits":false,"docs":[{"_id":"org.couchdb.user:%s","_rev":"99-%032x","name":%q,"type":"user","roles":[]}]}`,
			admin.name,
			i,
			admin.name,
		)
		a.send(ctx, request{method: "POST", path: "/_users/_bulk_docs", as: nobody, body: text(conflict)}, 201)
	}
	login := text(fmt.Sprintf(`{"name":%q,"password":%q}`, admin.name, admin.password))
	a.send(ctx, request{method: "GET", path: "/_all_dbs", as: admin}, 200)
	a.send(ctx, request{method: "POST", path: "/_session", as: nobody, body: login}, 200)
	a.dearHash(ctx)
	return nil
}

// dearHash signs a user up who then asks for a hash that takes seconds, and logs in meanwhile.
func (a *assault) dearHash(ctx context.Context) {
	user := account{a.db, "secret"}
	path := "/_users/org.couchdb.user:" + user.name
	doc := map[string]any{"name": user.name, "password": user.password, "type": "user", "roles": []string{}}
	put := func(expected ...int) {
		if b, err := json.Marshal(doc); err == nil {
			a.send(ctx, request{method: "PUT", path: path, as: user, body: bodyOf(b)}, expected...)
		}
	}
	if b, err := json.Marshal(doc); err == nil {
		a.send(ctx, request{method: "PUT", path: path, as: nobody, body: bodyOf(b)}, 201)
	}
	got := a.send(ctx, request{method: "GET", path: path, as: user, whole: true}, 200)
	if err := json.Unmarshal([]byte(got.start), &doc); err != nil {
		a.fault("the user's own document: %v", err)
		return
	}
	doc["iterations"] = 10_000_000
	put(append(refusals, 201)...)
	begin := time.Now()
	a.send(ctx, request{
		method: "POST",
		path:   "/_session",
		as:     nobody,
		body:   text(fmt.Sprintf(`{"name":%q,"password":"wrong"}`, user.name)),
	}, 401, 403, 503)
	const bound = 8 * time.Second // ten million iterations take that where the server's own take a third of a second
	if took := time.Since(begin); took > bound {
		a.fault("a login took %s", took.Round(time.Millisecond))
	}
}

// whoExists compares the fastest refusals, which a busy machine slows down least. They differed
// fifty times.
func whoExists(ctx context.Context, a *assault) error {
	const attempts = 3 // fewer than lock a name out
	fastest := func(name func(i int) string) (least time.Duration, status int) {
		for i := range attempts {
			begin := time.Now()
			got := a.send(ctx, request{
				method: "POST",
				path:   "/_session",
				as:     nobody,
				body:   text(fmt.Sprintf(`{"name":%q,"password":"wrong"}`, name(i))),
			}, 401, 403, 503)
			if took := time.Since(begin); i == 0 || took < least {
				least = took
			}
			status = max(status, got.status)
		}
		return least, status
	}
	known, status := fastest(func(int) string { return innocentName })
	unknown, _ := fastest(func(i int) string { return fmt.Sprintf("%s-%d", a.db, i) })
	const factor = 5
	if status == http.StatusUnauthorized && (known > factor*unknown || unknown > factor*known) {
		a.fault("refusing a known name takes %s, an unknown one %s", known, unknown)
	}
	return nil
}

// forgedAddresses guesses passwords, each time with another address in X-Forwarded-For. The lockout
// must count the real address, or the attacker has as many tries as there are addresses.
func forgedAddresses(ctx context.Context, a *assault) error {
	var last reply
	for i := range 8 {
		forged := []string{"X-Forwarded-For", fmt.Sprintf("7.7.7.%d", i)}
		last = a.send(ctx, request{
			method:  "POST",
			path:    "/_session",
			as:      nobody,
			headers: forged,
			body:    text(fmt.Sprintf(`{"name":%q,"password":"wrong"}`, a.db)),
		}, 401, 403, 503)
	}
	if last.status == http.StatusUnauthorized {
		a.fault("eight wrong passwords from one address, said to be of eight, lock nothing")
	}
	return nil
}
