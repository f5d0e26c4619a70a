package workflow_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/workflow"
)

func TestKnownShapesOfCredentialsAreFound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("aB3", 30)
	// Put together here, so that the scanners of others find none in this file.
	for _, secret := range []string{
		"-----BEGIN OPENSSH " + "PRIVATE KEY-----", "AGE-SECRET-" + "KEY-1" + strings.ToUpper(long), "AKIA" + "ABCDEFGHIJKLMNOP",
		"ghp" + "_" + long, "github" + "_pat_" + long, "gl" + "pat-" + long, "sk-" + "ant-api03-" + long, "sk-" + "proj-" + long, "sk-" + long,
		"xox" + "b-1234567890-" + long, "https://hooks.slack.com/" + "services/T0/B0/" + long, "sk_" + "live_" + long, "AI" + "za" + long[:35],
		"npm" + "_" + long[:36], "pypi-" + "AgE" + long, "hf" + "_" + long, "SG." + long[:22] + "." + long[:43], "dop_" + "v1_" + strings.Repeat("0f", 32),
		"hvs." + long, "eyJ" + long + ".eyJ" + long + "." + long, "postgres://admin:" + "hunter2@db.example.org/x", "Authorization: Bearer " + long,
	} {
		raw, err := json.Marshal(map[string]any{"list": []string{"before " + secret + " after"}})
		if err != nil {
			t.Fatal(err)
		}
		if found := workflow.RawSecrets(raw); found["/list/0"] == "" || len(found) != 1 {
			t.Errorf("%s: found %v", secret, found)
		}
	}
}

func TestCredentialsAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	raw := []byte(`{
		"password": "x", "db_password": "x", "GITHUB_TOKEN": "x", "x-api-key": "x", "clientSecret": "x", "Authorization": "x",
		"nested": {"credentials": {"user": "u", "list": ["x"]}}, "secret": ["x"], "token": {"from": "literal", "value": "x"}
	}`)
	want := []string{
		"/Authorization", "/GITHUB_TOKEN", "/clientSecret", "/db_password",
		"/password", "/secret/0", "/token/value", "/x-api-key",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(workflow.RawSecrets(raw)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsNoCredentialIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"password": {"$secret": "db"}}`, `{"token": ""}`, `{"token": null}`, `{"max_tokens": 5}`, `{"token": 5}`, `{"tokens": "many"}`,
		`{"authorization": {"text": ["Bearer ", {"$secret": "t"}]}}`, `{"token": {"from": "step", "step": "token", "pointer": "/token"}}`,
		`{"next_token": "abc", "pageToken": "abc"}`, `{"secretary": "Ms Smith", "password_file": "/run/x"}`,
		`{"sha": "3f4f036df33b6110d25ca4c91efe7404d3df0610cbacb8014e61a58d9d100411"}`, `{"url": "https://example.org:8080/a@b"}`,
		`{"text": "sk-this-is-some-kebab-case-word", "say": "basic instinct"}`, `nonsense`,
	} {
		if found := workflow.RawSecrets([]byte(raw)); len(found) > 0 {
			t.Errorf("%s: found %v", raw, found)
		}
	}
}

func TestNamesInSchemasAreNoCredentials(t *testing.T) {
	t.Parallel()
	compile(t, head+`input_schema: {type: object, properties: {password: {type: string, description: The password}, token: {const: x}}, required: [password]}
steps: [{id: token, type: tool, tool: t, output_schema: {type: object, properties: {secret: {type: string, title: secret}}}}]
`)
}
