package compat

import "testing"

func TestAppendDocument(t *testing.T) {
	hash := "\x96\x7a\x00\xdf\xf5\xe0\x2a\xdd\x41\x81\x91\x38\xab\xb3\x28\x4d"
	att := &Attachment{
		Name:          "f",
		Type:          "text/plain",
		RevPos:        2,
		HasDigest:     true,
		Length:        5,
		EncodedLength: 25,
		Encoding:      EncodingGzip,
	}
	tests := []struct {
		view DocumentView
		want string
	}{
		{
			DocumentView{ID: "a", Rev: Rev{1, hash}, Body: []byte(`{}`)},
			`{"_id":"a","_rev":"1-967a00dff5e02add41819138abb3284d"}`,
		},
		{
			DocumentView{ID: "_local/a", Rev: Rev{0, "1"}, Body: []byte(`{"x":1}`)},
			`{"_id":"_local/a","_rev":"0-1","x":1}`,
		},
		{
			DocumentView{ID: "\xED\xA0\x80\"", Rev: Rev{1, "a"}, Body: []byte(`{}`), Deleted: true},
			"{\"_id\":\"\uFFFD\\\"\",\"_rev\":\"1-a\",\"_deleted\":true}",
		},
		{
			DocumentView{
				ID: "a", Rev: Rev{2, hash}, Body: []byte(`{"x":1}`), Deleted: true,
				Revisions: RevPath{2, []string{hash, "b\""}},
				RevsInfo: []RevInfo{
					{Rev{2, hash}, RevDeleted},
					{Rev{1, "b"}, RevMissing},
				}, Conflicts: []Rev{{1, "c"}, {1, "b"}}, DeletedConflicts: []Rev{{3, "d"}},
				LocalSeq: 7, HasLocalSeq: true, Attachments: []AttachmentView{{Attachment: att}},
			},
			`{"_id":"a","_rev":"2-967a00dff5e02add41819138abb3284d","x":1,"_deleted":true,"_revisions":{"start":2,"ids":["967a00dff5e02add41819138abb3284d","b\""]},` +
				`"_revs_info":[{"rev":"2-967a00dff5e02add41819138abb3284d","status":"deleted"},{"rev":"1-b","status":"missing"}],"_conflicts":["1-c","1-b"],` +
				`"_deleted_conflicts":["3-d"],"_local_seq":7,"_attachments":{"f":{"content_type":"text/plain","revpos":2,"digest":"md5-AAAAAAAAAAAAAAAAAAAAAA==","length":5,"stub":true}}}`,
		},
		{DocumentView{ID: "a", Body: []byte(`{}`), Conflicts: []Rev{}}, `{"_id":"a","_conflicts":[]}`},
	}
	for _, tt := range tests {
		if got := string(AppendDocument(nil, &tt.view)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	for want, view := range map[string]AttachmentView{
		`{"content_type":"text/plain","revpos":2,"digest":"md5-AAAAAAAAAAAAAAAAAAAAAA==","data":"aGk="}`:                                                   {Attachment: att, Form: FormData, Content: []byte("hi")},
		`{"content_type":"text/plain","revpos":2,"digest":"md5-AAAAAAAAAAAAAAAAAAAAAA==","length":5,"follows":true,"encoding":"gzip","encoded_length":25}`: {Attachment: att, Form: FormFollows, EncodingInfo: true},
	} {
		if got := string(view.AppendJSON(nil)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := testing.AllocsPerRun(10, func() { AppendDocument(make([]byte, 0, 1024), &tests[0].view) }); got > 1 {
		t.Errorf("%v allocations", got)
	}
}
