package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/culm-dev/culm/store"
)

func (e *env) list(s store.Store, q store.Query) []store.Listed {
	e.Helper()
	page, err := s.List(e.ctx, q)
	if err != nil {
		e.Fatalf("list %+v: %v", q, err)
	}
	return page.Rows
}

func ids(rows []store.Listed) []string {
	var list []string
	for _, r := range rows {
		list = append(list, r.ID)
	}
	return list
}

var listTests = map[string]func(*env){
	"NothingListsNothing": func(e *env) {
		if page, err := e.a.List(e.ctx, store.Query{}); err != nil || len(page.Rows) != 0 || page.Next != "" {
			e.Errorf("page: %+v, %v", page, err)
		}
	},
	"RowsAreShownWithTheirOwners": func(e *env) {
		dead := e.h.Open(e.T)
		e.create(e.a, "alive", 2)
		e.create(dead, "dead", 3)
		e.create(e.a, "free", 1)
		e.commit(e.a, batch(store.Append{Stream: "free", Expect: 1, Release: true}))
		e.h.Kill(e.T, dead)
		for _, r := range e.list(e.b, store.Query{}) {
			want := map[string][2]bool{"alive": {true, true}, "dead": {true, false}, "free": {false, false}}[r.ID]
			if got := [2]bool{r.Owner.ID != "", r.Owner.Alive}; got != want || r.Owner.Self || r.Damaged != "" {
				e.Errorf("%s: %+v", r.ID, r)
			}
			if h := e.head(e.b, r.ID); compare(h.Row, r.Row) != "" || h.Last != r.Last || compare(h.Owner, r.Owner) != "" {
				e.Errorf("the list says %+v, the head %+v", r, h)
			}
		}
		if rows := e.list(e.a, store.Query{IDPrefix: "alive"}); len(rows) != 1 || !rows[0].Owner.Self {
			e.Errorf("own row: %+v", rows)
		}
	},
	"NewestFirstThenByID": func(e *env) {
		for i, name := range []string{"m", "z", "a", "k", "c"} {
			r := row(name)
			r.Created = epoch().Add(time.Duration(i/2) * time.Nanosecond)
			e.commit(e.a, batch(store.Append{Stream: name, Create: true, Row: r}))
		}
		if diff := compare([]string{"c", "k", "a", "z", "m"}, ids(e.list(e.b, store.Query{}))); diff != "" {
			e.Error(diff)
		}
	},
	"PagesCoverEverythingOnce": func(e *env) {
		var want []string
		for i := range 23 {
			r := row(fmt.Sprintf("run-%02d", i))
			r.Created = epoch().Add(time.Duration(i/3) * time.Hour)
			e.commit(e.a, batch(store.Append{Stream: r.ID, Create: true, Row: r}))
			want = append(want, r.ID)
		}
		slices.Reverse(want)
		for _, limit := range []int{1, 2, 5, 22, 23, 24} {
			var got []string
			q := store.Query{Limit: limit}
			for {
				page, err := e.b.List(e.ctx, q)
				if err != nil {
					e.Fatal(err)
				}
				if len(page.Rows) > limit {
					e.Errorf("a page of %d rows for a limit of %d", len(page.Rows), limit)
				}
				got = append(got, ids(page.Rows)...)
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
				// What is made between pages is newer and stands before them.
				if len(got) == limit {
					r := row(fmt.Sprint("new-", limit))
					r.Created = epoch().AddDate(1, 0, 0)
					e.commit(e.a, batch(store.Append{Stream: r.ID, Create: true, Row: r}))
				}
			}
			got = slices.DeleteFunc(got, func(id string) bool { return id[:4] == "new-" })
			if diff := compare(want, got); diff != "" {
				e.Errorf("in pages of %d:\n%s", limit, diff)
			}
		}
		if _, err := e.a.List(e.ctx, store.Query{Cursor: "?"}); err == nil {
			e.Error("a cursor that no page gave was accepted")
		}
	},
	"Filters": func(e *env) {
		for i, change := range []func(*store.Row){
			func(r *store.Row) {},
			func(r *store.Row) { r.Status, r.InDoubt = "suspended", true },
			func(r *store.Row) { r.Status, r.Workflow = "failed", "wf@2" },
			func(r *store.Row) { r.Workflow, r.Session = "wf-other@1", "s2" },
			func(r *store.Row) { r.Kind, r.Labels = "session", map[string]string{"team": "core", "x": "a'b"} },
			func(r *store.Row) { r.Labels = map[string]string{"team": "web", "x": "a'b"} },
		} {
			r := row(fmt.Sprintf("run%d-%c", i, 'a'+i%2))
			r.Created = epoch().Add(time.Duration(i) * time.Hour)
			change(r)
			e.commit(e.a, batch(store.Append{Stream: r.ID, Create: true, Row: r}))
		}
		for _, test := range []struct {
			q    store.Query
			want []int
		}{
			{store.Query{}, []int{5, 4, 3, 2, 1, 0}},
			{store.Query{Kind: "session"}, []int{4}},
			{store.Query{Status: []string{"running"}}, []int{5, 4, 3, 0}},
			{store.Query{Status: []string{"failed", "suspended"}}, []int{2, 1}},
			{store.Query{Workflow: "wf"}, []int{5, 4, 2, 1, 0}},
			{store.Query{Workflow: "wf@1"}, []int{5, 4, 1, 0}},
			{store.Query{Workflow: "w"}, nil},
			{store.Query{Session: "s2"}, []int{3}},
			{store.Query{Labels: map[string]string{"x": "a'b"}}, []int{5, 4}},
			{store.Query{Labels: map[string]string{"x": "a'b", "team": "web"}}, []int{5}},
			{store.Query{Labels: map[string]string{"team": "none"}}, nil},
			{store.Query{InDoubt: true}, []int{1}},
			{store.Query{Since: epoch().Add(3 * time.Hour)}, []int{5, 4, 3}},
			{store.Query{IDPrefix: "run3"}, []int{3}},
			{store.Query{IDPrefix: "run%"}, nil},
			{store.Query{IDSuffix: "-b"}, []int{5, 3, 1}},
			{store.Query{IDSuffix: "-b", Status: []string{"running"}, Workflow: "wf"}, []int{5}},
			{store.Query{Limit: 2}, []int{5, 4}},
		} {
			var want []string
			for _, i := range test.want {
				want = append(want, fmt.Sprintf("run%d-%c", i, 'a'+i%2))
			}
			if diff := compare(want, ids(e.list(e.b, test.q))); diff != "" {
				e.Errorf("%+v:\n%s", test.q, diff)
			}
		}
	},
	"AChangedRowMovesBetweenFilters": func(e *env) {
		e.create(e.a, "s", 1)
		r := row("s")
		r.Status, r.InDoubt = "suspended", true
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 1, Row: r}))
		if rows := e.list(e.b, store.Query{Status: []string{"running"}}); len(rows) != 0 {
			e.Errorf("still running: %+v", rows)
		}
		if rows := e.list(e.b, store.Query{Status: []string{"suspended"}, InDoubt: true}); len(rows) != 1 {
			e.Errorf("suspended: %+v", rows)
		}
		e.commit(e.a, batch(store.Append{Stream: "s", Expect: 1, Row: row("s")}))
		if rows := e.list(e.b, store.Query{InDoubt: true}); len(rows) != 0 {
			e.Errorf("still in doubt: %+v", rows)
		}
	},
	"TheDefaultPageIsFifty": func(e *env) {
		for i := range 51 {
			e.create(e.a, fmt.Sprint("s", i), 0)
		}
		page, err := e.b.List(e.ctx, store.Query{})
		if err != nil || len(page.Rows) != 50 || page.Next == "" {
			e.Errorf("%d rows, next %q, %v", len(page.Rows), page.Next, err)
		}
	},
}
