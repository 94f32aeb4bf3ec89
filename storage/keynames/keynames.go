package keynames

import (
	"fmt"
	"strings"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// tags are the subspaces of a database.
var tags = map[storage.Tag]string{
	storage.TagSecurity: "security", storage.TagStats: "counters", storage.TagAllDocs: "ids",
	storage.TagChanges: "feed", storage.TagRevs: "revisions", storage.TagDocs: "bodies",
	storage.TagHistory: "replaced bodies", storage.TagLocal: "local documents", storage.TagAtt: "bytes",
	storage.TagAttRefs: "references to bytes", storage.TagAttPending: "bytes that are uploaded",
	storage.TagPurges: "purges", storage.TagPartStats: "counters of partitions", storage.TagRankIDs: "ranks of ids",
	storage.TagSeqBlocks: "blocks of the feed", storage.TagLastSeq: "last sequence",
	storage.TagPurgeSeq: "last purge", storage.TagCountLog: "log of counts",
	storage.TagDesigns: "last change of design documents", storage.TagViews: "views",
	storage.TagMango: "indexes over all fields", storage.TagEventing: "origins", storage.TagExpiry: "expiries",
	storage.TagSearch: "full-text indexes",
}

// roots are what is outside of databases, by the prefix of its keys.
var roots = []struct {
	prefix []byte
	name   string
}{
	{storage.HeadKey(), "head of the store"},
	{storage.JobsPrefix(), "jobs"},
	{storage.EventingPrefix(), "event functions"},
	{storage.ExpiryPrefix(), "expiries"},
	{storage.NodesPrefix(), "nodes"},
	{storage.SettingsPrefix(), "settings"},
	{storage.LoginsPrefix(), "failed logins"},
}

// firstDatabase is the least prefix of a database: what is below it are tags of the root.
const firstDatabase = 32

// Of is what a key is, in words: the number of its database, the subspace, and the first text in it, as an id of a
// document is.
func Of(key []byte) string {
	prefix, rest, err := tuple.ReadInt(key)
	if err != nil {
		return fmt.Sprintf("%.60q", key)
	}
	if prefix < firstDatabase {
		for _, r := range roots {
			if strings.HasPrefix(string(key), string(r.prefix)) {
				return r.name
			}
		}
		return "databases" + text(rest)
	}
	tag, rest, err := tuple.ReadInt(rest)
	if err != nil {
		return fmt.Sprintf("database %d", prefix)
	}
	name := tags[storage.Tag(tag)]
	if name == "" {
		name = fmt.Sprint("subspace ", tag)
	}
	return fmt.Sprintf("database %d, %s%s", prefix, name, text(rest))
}

// text is the text that a key begins with, if it does.
func text(key []byte) string {
	if s, _, err := tuple.ReadString(key); err == nil {
		return fmt.Sprintf(" %.100q", s)
	}
	return ""
}
