package workflow

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const secretHint = "give it to the operator's secret source, and write {$secret: its name} here"

// secrets reports what looks like a credential, anywhere in the definition, and
// keeps it out of rendered errors.
func (k *checker) secrets() {
	found := findSecrets(k.src.root)
	if len(found) == 0 {
		return
	}
	k.report.text = k.report.text.masked(found)
	for _, f := range found {
		k.report.at(f.v, SecretMaterial, "this looks like %s", f.what).Hint = secretHint
	}
	for _, e := range k.report.list {
		e.text = k.report.text
	}
}

// RawSecrets finds what looks like a credential in a JSON document, such as the
// arguments of a run: by the names of object members, and by the shapes of known
// kinds of tokens. Handles ({"$secret": name}) are not. It returns the places
// (RFC 6901) with what each looks like; raw that is not JSON has none.
func RawSecrets(raw []byte) map[string]string {
	root, _ := parseJSON(raw, &report{text: &text{}})
	if root == nil {
		return nil
	}
	places := map[string]string{}
	f := &secretFinder{}
	f.walk(root, "")
	for _, found := range f.found {
		places[found.v.ptr] = found.what
	}
	return places
}

// foundSecret is a string that looks like a credential.
type foundSecret struct {
	v    *value
	what string
}

// findSecrets looks through a definition.
func findSecrets(root *value) []foundSecret {
	f := &secretFinder{}
	for _, m := range root.members {
		switch m.name {
		case "input_schema", "output_schema":
			f.shapes(m.value)
		case "steps":
			for _, step := range m.value.items {
				f.step(step)
			}
		default:
			f.walk(m.value, "")
		}
	}
	return f.found
}

type secretFinder struct{ found []foundSecret }

// step looks through a step: names count in templates only, for in schemas they
// are keywords and the names of properties.
func (f *secretFinder) step(step *value) {
	for _, m := range step.members {
		if m.name == "output_schema" {
			f.shapes(m.value)
		} else {
			f.walk(m.value, "")
		}
	}
}

// walk looks at names and shapes; name is the sensitive name that v stands
// under, or "".
func (f *secretFinder) walk(v *value, name string) {
	switch v.kind {
	case stringKind:
		f.string(v, name)
	case arrayKind:
		for _, item := range v.items {
			f.walk(item, name)
		}
	case objectKind:
		f.object(v, name)
	}
}

func (f *secretFinder) object(v *value, name string) {
	if len(v.members) == 1 && v.has("$secret") {
		return
	}
	if parts := v.get("text"); parts != nil && len(v.members) == 1 && allStrings(parts) {
		f.walk(parts, name)
		return
	}
	for _, m := range v.members {
		switch {
		case isReference(v) && (m.name == "value" || m.name == "default"):
			f.walk(m.value, name) // what a reference gives counts as the member's value
		case isReference(v):
			f.shapes(m.value)
		case sensitiveName(m.name) && m.name != "$secret":
			f.walk(m.value, m.name)
		default:
			f.walk(m.value, "")
		}
	}
}

// allStrings reports whether a text has no part that is a reference.
func allStrings(v *value) bool {
	for _, item := range v.items {
		if item.kind != stringKind {
			return false
		}
	}
	return v.kind == arrayKind
}

// isReference reports whether an object reads its value from somewhere.
func isReference(v *value) bool {
	from := v.get("from")
	kinds := []string{"args", "step", "previous", "item", "run", "literal"}
	return from != nil && slices.Contains(kinds, from.text) || len(v.members) == 1 && (v.has("text") || v.has("cel"))
}

func (f *secretFinder) string(v *value, name string) {
	if what := knownShape(v.text); what != "" {
		f.found = append(f.found, foundSecret{v, what})
		return
	}
	if name != "" && strings.TrimSpace(v.text) != "" {
		f.found = append(f.found, foundSecret{v, "a credential, by the name " + `"` + name + `"`})
	}
}

// shapes looks at shapes alone.
func (f *secretFinder) shapes(v *value) {
	if v.kind == stringKind {
		f.string(v, "")
	}
	for _, item := range v.items {
		f.shapes(item)
	}
	for _, m := range v.members {
		f.shapes(m.value)
	}
}

// sensitiveName reports whether members of that name hold credentials:
// db_password, GITHUB_TOKEN, x-api-key, clientSecret.
func sensitiveName(name string) bool {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
	for _, harmless := range []string{"pagetoken", "nexttoken", "continuationtoken", "cursortoken", "synctoken"} {
		if strings.HasSuffix(letters, harmless) {
			return false
		}
	}
	for _, ending := range []string{
		"password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "secretkey",
		"privatekey", "signingkey", "encryptionkey", "credential", "credentials", "authorization",
	} {
		if strings.HasSuffix(letters, ending) {
			return true
		}
	}
	return false
}

// secretShape is the form of one kind of credential.
type secretShape struct {
	what string
	form *regexp.Regexp
}

// secretShapes are kinds of credentials that are told by their form alone, as
// their issuers document them. Long ones with a fixed prefix only: what merely
// looks random is as often a hash.
var secretShapes = []secretShape{
	{"a private key", regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY`)},
	{"an age secret key", regexp.MustCompile(`\bAGE-SECRET-KEY-1[0-9A-Z]{20,}`)},
	{"an AWS access key", regexp.MustCompile(`\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b`)},
	{"a GitHub token", regexp.MustCompile(`\b(?:gh[pousr]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{22,})`)},
	{"a GitLab token", regexp.MustCompile(`\bgl(?:pat|ptt|dt|rt|ft|cbt|agent|soat)-[0-9A-Za-z_-]{20,}`)},
	{"an Anthropic key", regexp.MustCompile(`\bsk-ant-[0-9A-Za-z_-]{20,}`)},
	{"an OpenAI key", regexp.MustCompile(`\bsk-(?:proj-|svcacct-|admin-|or-v1-)[0-9A-Za-z_-]{20,}|\bsk-[0-9A-Za-z]{32,}\b`)},
	{"a Slack token", regexp.MustCompile(`\bxox[abeoprs]-[0-9A-Za-z-]{10,}|\bxapp-[0-9]-[0-9A-Za-z-]{10,}`)},
	{"a Slack webhook", regexp.MustCompile(`hooks\.slack\.com/(?:services|workflows|triggers)/[0-9A-Za-z+/]{20,}`)},
	{"a Stripe key", regexp.MustCompile(`\b(?:sk|rk)_(?:live|test|prod)_[0-9A-Za-z]{10,}`)},
	{"a Google API key", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`)},
	{"an npm token", regexp.MustCompile(`\bnpm_[0-9A-Za-z]{36}`)},
	{"a PyPI token", regexp.MustCompile(`\bpypi-AgE[0-9A-Za-z_-]{50,}`)},
	{"a Hugging Face token", regexp.MustCompile(`\bhf_[0-9A-Za-z]{30,}`)},
	{"a SendGrid key", regexp.MustCompile(`\bSG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{30,}`)},
	{"a DigitalOcean token", regexp.MustCompile(`\bdo[opr]_v1_[0-9a-f]{64}`)},
	{"a Vault token", regexp.MustCompile(`\bhv[sbr]\.[0-9A-Za-z_-]{24,}`)},
	{"a JSON web token", regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}`)},
	{"a password in a URL", regexp.MustCompile(`\b[A-Za-z][0-9A-Za-z+.-]*://[^\s/:@]*:[^\s/@]{3,}@[0-9A-Za-z\[]`)},
	{"an Authorization header", regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[0-9A-Za-z._~+/-]{20,}=*`)},
}

// knownShape says what a string looks like; "" if like nothing known.
func knownShape(s string) string {
	for _, shape := range secretShapes {
		if shape.form.MatchString(s) {
			return shape.what
		}
	}
	return ""
}
