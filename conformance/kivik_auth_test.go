package conformance

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/go-kivik/kivik/v4"
	"github.com/go-kivik/kivik/v4/couchdb"
	"github.com/golang-jwt/jwt/v5"
)

// newUser creates a user with the password "secret" and returns the name.
func (c *client) newUser(roles ...string) string {
	c.t.Helper()
	name := databaseName(c.t)
	doc, err := json.Marshal(
		map[string]any{"name": name, "type": "user", "roles": append([]string{}, roles...), "password": "secret"},
	)
	must(c.t, err)
	c.want(http.StatusCreated, c.do("PUT", "/_users/org.couchdb.user:"+name, string(doc)))
	return name
}

// A session of kivik's: it logs in by itself, keeps the cookie, and is the user on every request.
func TestKivikCookieSession(t *testing.T) {
	c, ctx := newClient(t), t.Context()
	user, name := c.newUser("staff"), c.newDatabase("")
	c.want(http.StatusOK, c.do("PUT", "/"+name+"/_security", `{"members":{"roles":["staff"]}}`))
	session, err := kivik.New("couch", c.base+"/", couchdb.CookieAuth(user, "secret"))
	must(t, err)
	db := session.DB(name)
	rev := put(t, db, "doc", body{"a": 1})
	if got := get(t, db, "doc"); got["_rev"] != rev {
		t.Errorf("read %v", got)
	}
	info, err := session.Session(ctx)
	must(t, err)
	if info.Name != user || info.AuthenticationMethod != "cookie" || len(info.Roles) != 1 {
		t.Errorf("the session is %+v", info)
	}
	_, err = db.Put(ctx, "_design/d", body{"views": body{}})
	wantStatus(t, http.StatusForbidden, err)
	wrong, err := kivik.New("couch", c.base+"/", couchdb.CookieAuth(user, "wrong"))
	must(t, err)
	wantStatus(t, http.StatusUnauthorized, wrong.DB(name).Get(ctx, "doc").Err())
}

// Tokens signed with a key of the configuration, which takes effect at once.
func TestKivikToken(t *testing.T) {
	c, ctx := clientFor(t, startServer(t, Engines[0], "").Addr), t.Context()
	name := c.newDatabase("")
	c.want(http.StatusOK, c.do("PUT", "/"+name+"/_security", `{"members":{"roles":["staff"]}}`))
	secret := []byte("a secret that nobody guesses")
	for key, value := range map[string]string{
		"chttpd/authentication_handlers": "{chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}",
		"jwt_keys/hmac:mine":             base64.StdEncoding.EncodeToString(secret),
	} {
		text, err := json.Marshal(value)
		must(t, err)
		c.want(http.StatusOK, c.do("PUT", "/_node/_local/_config/"+key, string(text)))
	}
	connect := func(roles []string, expires time.Time) *kivik.DB {
		token := jwt.NewWithClaims(
			jwt.SigningMethodHS384,
			jwt.MapClaims{"sub": "joe", "exp": expires.Unix(), "_couchdb.roles": roles},
		)
		token.Header["kid"] = "mine"
		signed, err := token.SignedString(secret)
		must(t, err)
		client, err := kivik.New("couch", c.base+"/", couchdb.JWTAuth(signed))
		must(t, err)
		return client.DB(name)
	}
	later := time.Now().Add(time.Hour)
	put(t, connect([]string{"staff"}, later), "doc", body{"a": 1})
	wantStatus(t, http.StatusForbidden, connect([]string{"guest"}, later).Get(ctx, "doc").Err())
	wantStatus(t, http.StatusUnauthorized, connect([]string{"staff"}, time.Now().Add(-time.Hour)).Get(ctx, "doc").Err())
}
