package principal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
)

func value(t testing.TB, text string) ejson.Value {
	t.Helper()
	if text == "" {
		return ejson.Value{}
	}
	v, err := ejson.Parse([]byte(text))
	require.NoError(t, err)
	return v
}

func TestHashDocument(t *testing.T) {
	body, err := HashDocument(
		value(t, `{"z":1,"password":"secret","name":"n","salt":"mine","iterations":5,"roles":[]}`),
		weak,
		&Policy{},
	)
	require.NoError(t, err)
	require.Regexp(
		t,
		`^\{"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"[0-9a-f]{32}","iterations":10,"derived_key":"[0-9a-f]{64}","z":1,"name":"n","roles":\[\]\}$`,
		string(body),
	)
	u := ParseUser("n", body)
	ok, err := u.check("secret")
	require.NoError(t, err)
	require.True(t, ok)
	require.False(t, u.Outdated(weak))
	require.True(t, u.Outdated(DefaultHashing))

	again, err := HashDocument(
		value(t, string(WithPassword(value(t, string(body)), "secret"))),
		Hashing{SchemePBKDF2, "sha512", 11},
		&Policy{},
	)
	require.NoError(t, err)
	require.Equal(t, u.Salt, ParseUser("n", again).Salt)

	_, err = HashDocument(value(t, `{"password":["a"]}`), weak, &Policy{})
	require.ErrorContains(t, err, `Password value of '[<<"a">>]' is invalid.`)
	_, err = HashDocument(value(t, `{"password":"a"}`), Hashing{Scheme: "md5"}, &Policy{})
	require.Equal(t, error(errCannotHash), err)
	require.False(t, HasPassword(value(t, `{"password":null}`)))
}

func TestCheckUserDoc(t *testing.T) {
	const id = DocPrefix + "joe"
	joe, db, server := Writer{
		Name: "joe",
	}, Writer{
		Name:    "adm",
		DBAdmin: true,
	}, Writer{
		Name:        "root",
		DBAdmin:     true,
		ServerAdmin: true,
	}
	const old = `{"name":"joe","type":"user","roles":["b","a"]}`
	for _, c := range []struct {
		w        Writer
		doc, old string
		reason   string
	}{
		{joe, `{"name":"joe","type":"user","roles":["a","b"]}`, old, ""},
		{joe, `{"name":"joe","type":"user","roles":["a"]}`, old, "Only _admin may edit roles"},
		{joe, `{"name":"joe","type":"user","roles":["a"]}`, "", "Only _admin may set roles"},
		{Writer{}, `{"name":"joe","type":"user","roles":[]}`, "", ""},
		{Writer{}, `{"name":"joe","type":"user","roles":["a","b"]}`, old, "You may only update your own user document."},
		{db, `{"name":"joe","type":"user","roles":["x"]}`, old, ""},
		{db, `{"name":"joe","type":"user","roles":["_admin"]}`, old, "No system roles (starting with underscore) in users db."},
		{server, `{"name":"joe","type":"user","roles":["_admin"]}`, old, "No system roles (starting with underscore) in users db."},
		{server, `{"name":"joe","type":"user","roles":["_metrics"]}`, "", ""},
		{server, `{"name":"jim","type":"user","roles":[]}`, "", "Doc ID must be of the form org.couchdb.user:name"},
		{server, `{"name":"joe","type":"user","roles":[]}`, `{"name":"jim"}`, "Usernames can not be changed."},
		{server, `{"name":"joe","type":"user","roles":[],"password_scheme":"md5"}`, "", "Password scheme `md5` not supported."},
		{server, `{}`, "", "doc.type must be user"},
	} {
		err := CheckUserDoc(id, false, value(t, c.doc), value(t, c.old), c.w)
		if c.reason == "" {
			require.NoError(t, err, c.doc)
		} else {
			require.ErrorContains(t, err, c.reason, c.doc)
		}
	}
	require.NoError(t, CheckUserDoc(id, true, value(t, `{}`), value(t, old), joe))
	require.NoError(t, CheckUserDoc(id, true, value(t, `{}`), value(t, ""), server))
	require.Error(t, CheckUserDoc(id, true, value(t, `{}`), value(t, old), Writer{}))
	require.Error(t, CheckUserDoc(id, true, value(t, `{}`), value(t, `{}`), Writer{}))
	require.Error(t, CheckUserDoc(id, true, value(t, `{}`), value(t, old), db))
}

func FuzzUserDoc(f *testing.F) {
	f.Add(`{"name":"joe","type":"user","roles":["a"],"password":"x"}`, `{"name":"joe"}`, "")
	f.Add(`{"name":1,"type":"user","roles":{}}`, `[]`, `["a",{"b","c"}]`)
	f.Fuzz(func(t *testing.T, doc, old, policy string) {
		v, err := ejson.Parse([]byte(doc))
		if err != nil || v.Kind() != ejson.Object {
			return
		}
		before, err := ejson.Parse([]byte(old))
		if err != nil {
			return
		}
		_ = CheckUserDoc(DocPrefix+"joe", false, v, before, Writer{Name: "joe"})
		ParseUser("joe", []byte(doc))
		p := ParsePolicy(policy)
		if !HasPassword(v) {
			return
		}
		if body, err := HashDocument(v, weak, &p); err == nil {
			if out, err := ejson.Parse(body); err != nil || HasPassword(out) {
				t.Fatalf("%s", body)
			}
		}
	})
}
