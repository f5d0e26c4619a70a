package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/culmtest"
	"github.com/culm-dev/culm/run"
)

var ada = culm.Start{Workflow: order, Args: json.RawMessage(`{"customer": "Ada", "amount": 30}`)}

// lines are those of a file; none if there is no file.
func lines(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

// Wherever the process dies, Ada is charged once and thanked once. The tools are
// the real ones.
func TestOrderDiesEverywhere(t *testing.T) {
	t.Parallel()
	var dir string
	culmtest.CrashEverywhere(t, ada, func(env *culmtest.Env) {
		dir = t.TempDir()
		env.Use(charge(filepath.Join(dir, "ledger")), mail(filepath.Join(dir, "outbox")))
	}, &culmtest.CrashOptions{
		Check: func(env *culmtest.Env, v *run.View) {
			env.WantStatus(v, run.StatusSucceeded)
			if paid := lines(t, filepath.Join(dir, "ledger")); len(paid) != 1 || paid[0] != "Ada 30" {
				t.Errorf("the ledger has %q", paid)
			}
			if sent := lines(t, filepath.Join(dir, "outbox")); len(sent) != 1 {
				t.Errorf("the outbox has %q", sent)
			}
		},
	})
}

// A rejected payment ends the order: nobody is thanked.
func TestRejectedPayment(t *testing.T) {
	t.Parallel()
	env := culmtest.New(t, nil)
	env.Fake(charge(""), culmtest.Fails("rejected", false, "no such card"))
	env.Fake(mail(""), culmtest.Returns("sent"))
	env.WantFailure(env.Run(ada), run.Rejected)
	env.WantCalls("mail", 0)
}

// An order goes on in the next process, whether this one died or was stopped.
func TestOrderGoesOn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(env *culmtest.Env){
		"died": func(env *culmtest.Env) { env.Crash() },
		"stopped": func(env *culmtest.Env) {
			env.Do(func() {
				if err := env.Engine().Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
			env.Crash() // it has ended
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := culmtest.New(t, nil)
			env.Fake(charge(""), culmtest.Returns("receipt 9"))
			env.Fake(mail(""), culmtest.Returns("sent"))
			v := env.Start(ada)
			env.Settle() // it thinks
			end(env)
			if err := takeUp(t.Context(), env.Engine()); err != nil {
				t.Fatal(err)
			}
			env.WantOutput(env.Wait(v.RunID), map[string]string{"receipt": "receipt 9"})
			env.WantOnce("charge", "mail")
		})
	}
}

// A client that asks twice under one key orders once.
func TestOrderTwice(t *testing.T) {
	t.Parallel()
	env := culmtest.New(t, nil)
	env.Fake(charge(""), culmtest.Returns("receipt 9"))
	env.Fake(mail(""), culmtest.Returns("sent"))
	handler := shop(env.Engine())
	var first, again struct{ ID, Status string }
	for _, answer := range []any{&first, &again} {
		r := httptest.NewRequest("POST", "/orders", strings.NewReader(string(ada.Args)))
		r.Header.Set("Idempotency-Key", "4711")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if err := json.Unmarshal(w.Body.Bytes(), answer); w.Code != http.StatusOK || err != nil {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if first.ID != again.ID {
		t.Errorf("two orders: %s and %s", first.ID, again.ID)
	}
	env.WantOutput(env.Wait(first.ID), map[string]string{"receipt": "receipt 9"})
	env.WantOnce("charge", "mail")

	r := httptest.NewRequest("POST", "/orders", strings.NewReader(string(ada.Args)))
	r.Header.Set("Idempotency-Key", "4711")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), `"output":{"receipt":"receipt 9"}`) {
		t.Errorf("once it has ended, the answer is %s", w.Body)
	}
}
