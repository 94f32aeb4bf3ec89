package definition

import (
	"net/url"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
)

const (
	// defaultName is the only scope of a database, and its only collection.
	defaultName = "_default"
	// wildcard stands for all scopes or all collections, in sources only.
	wildcard = "*"
)

// Bindings are what a function may use; clients call them depcfg.
type Bindings struct {
	SourceBucket     string `json:"source_bucket"`
	SourceScope      string `json:"source_scope"`
	SourceCollection string `json:"source_collection"`
	// Metadata keyspace: accepted and kept, whatever it is, but what a function has to remember is
	// out of sight here.
	MetadataBucket     string            `json:"metadata_bucket,omitempty"`
	MetadataScope      string            `json:"metadata_scope,omitempty"`
	MetadataCollection string            `json:"metadata_collection,omitempty"`
	Buckets            []DatabaseBinding `json:"buckets"`
	Curl               []CurlBinding     `json:"curl"`
	Constants          []Constant        `json:"constants"`
}

// The values of DatabaseBinding.Access.
const (
	ReadOnly  = "r"
	ReadWrite = "rw"
)

// DatabaseBinding is a database under the name that the code has for it. An alias of the form
// bucket.scope.collection is for statements: it is the database that stands for that collection.
type DatabaseBinding struct {
	Alias          string `json:"alias"`
	BucketName     string `json:"bucket_name"`
	ScopeName      string `json:"scope_name"`
	CollectionName string `json:"collection_name"`
	Access         string `json:"access"`
}

// The values of CurlBinding.AuthType.
const (
	AuthNone   = "no-auth"
	AuthBasic  = "basic"
	AuthDigest = "digest"
	AuthBearer = "bearer"
)

// CurlBinding is a URL under the name that the code has for it. Nothing of its secrets reaches the
// code.
type CurlBinding struct {
	Hostname    string `json:"hostname"`
	Value       string `json:"value"` // the alias
	AuthType    string `json:"auth_type"`
	Username    string `json:"username"`
	Password    string `json:"password"`
	BearerKey   string `json:"bearer_key"`
	Cookies     bool   `json:"allow_cookies"`
	ValidateSSL bool   `json:"validate_ssl_certificate"`
}

// Constant is a global name with what JavaScript makes of its literal.
type Constant struct {
	Value   string `json:"value"` // the name
	Literal string `json:"literal"`
}

// keyspace is a database with the scope and the collection that it has to be named with, if with
// any.
type keyspace struct{ bucket, scope, collection string }

func (b *Bindings) source() keyspace {
	return keyspace{b.SourceBucket, b.SourceScope, b.SourceCollection}
}

func (b *Bindings) metadata() keyspace {
	return keyspace{b.MetadataBucket, b.MetadataScope, b.MetadataCollection}
}

// all is the keyspace with its wildcards replaced by what they stand for: all that a database has.
func (k keyspace) all() keyspace {
	if k.collection == wildcard {
		k.collection = defaultName
		if k.scope == wildcard {
			k.scope = defaultName
		}
	}
	return k
}

// check refuses what names no database, and scopes and collections that databases do not have.
func (k keyspace) check(what string) error {
	if err := checkDatabase(what, k.bucket); err != nil {
		return err
	}
	if k.scope != defaultName || k.collection != defaultName {
		return Errorf(CodeCollectionMissing, "%s: there is no keyspace %s.%s.%s: databases have the scope and the "+
			"collection _default only", what, k.bucket, k.scope, k.collection)
	}
	return nil
}

// checkDatabase refuses what cannot be the name of a database.
func checkDatabase(what, name string) error {
	if name == "" {
		return Errorf(CodeInvalidConfig, "%s: the name of a database is missing", what)
	}
	if err := compat.ValidateDatabaseName(name); err != nil {
		return Errorf(CodeInvalidConfig, "%s: %v", what, err)
	}
	return nil
}

// fill sets what may be left out.
func (b *Bindings) fill() {
	usual := func(names ...*string) {
		for _, name := range names {
			if *name == "" {
				*name = defaultName
			}
		}
	}
	usual(&b.SourceScope, &b.SourceCollection)
	if b.MetadataBucket != "" {
		usual(&b.MetadataScope, &b.MetadataCollection)
	}
	b.Buckets = append([]DatabaseBinding{}, b.Buckets...) // printed as [] where there are none
	b.Curl, b.Constants = append([]CurlBinding{}, b.Curl...), append([]Constant{}, b.Constants...)
	for i := range b.Buckets {
		d := &b.Buckets[i]
		usual(&d.ScopeName, &d.CollectionName)
		switch { // definitions of before version 6.5 say nothing; the source could not be written then
		case d.Access != "":
		case d.BucketName == b.SourceBucket:
			d.Access = ReadOnly
		default:
			d.Access = ReadWrite
		}
	}
	for i := range b.Curl {
		if b.Curl[i].AuthType == "" {
			b.Curl[i].AuthType = AuthNone
		}
	}
}

// check refuses bindings that no function can have. Whether databases exist is not looked at: they
// may come later.
func (b *Bindings) check() error {
	if err := b.source().all().check("source_bucket"); err != nil {
		return err
	}
	if b.metadata() == b.source().all() {
		return Errorf(CodeSourceIsMetadata, "source keyspace is the metadata keyspace: %s", b.SourceBucket)
	}
	taken := aliases{}
	for _, d := range b.Buckets {
		if err := d.check(taken); err != nil {
			return err
		}
	}
	for _, c := range b.Curl {
		if err := c.check(taken); err != nil {
			return err
		}
	}
	for _, c := range b.Constants {
		if err := taken.take("constant", c.Value); err != nil {
			return err
		}
		if strings.TrimSpace(c.Literal) == "" {
			return Errorf(CodeInvalidConfig, "constant %s: the literal is missing", c.Value)
		}
	}
	return nil
}

func (d *DatabaseBinding) check(taken aliases) error {
	const what = "bucket binding"
	take := taken.take
	if strings.Contains(d.Alias, ".") {
		take = taken.takePath
	}
	if err := take(what, d.Alias); err != nil {
		return err
	}
	if d.Access != ReadOnly && d.Access != ReadWrite {
		return Errorf(CodeInvalidConfig, "%s %s: access must be r or rw, not %q", what, d.Alias, d.Access)
	}
	return keyspace{d.BucketName, d.ScopeName, d.CollectionName}.check(what + " " + d.Alias)
}

func (c *CurlBinding) check(taken aliases) error {
	const what = "URL binding"
	if err := taken.take(what, c.Value); err != nil {
		return err
	}
	u, err := url.Parse(c.Hostname)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return Errorf(CodeInvalidConfig, "%s %s: hostname must begin with http:// or https:// and name a host", what,
			c.Value)
	}
	if u.User != nil {
		return Errorf(CodeInvalidConfig, "%s %s: hostname must not have a password in it", what, c.Value)
	}
	if !slices.Contains([]string{AuthNone, AuthBasic, AuthDigest, AuthBearer}, c.AuthType) {
		return Errorf(CodeInvalidConfig, "%s %s: auth_type must be no-auth, basic, digest or bearer", what, c.Value)
	}
	return nil
}

// clone copies what can be changed.
func (b Bindings) clone() Bindings {
	b.Buckets, b.Curl, b.Constants = slices.Clone(b.Buckets), slices.Clone(b.Curl), slices.Clone(b.Constants)
	return b
}
