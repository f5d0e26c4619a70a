package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/culm-dev/culm/store"
)

// errAccountDamaged: an account belongs to no stream, so its damage names none.
var (
	errAccountDamaged = errors.New("the account's row is damaged: its checksum does not match")
	errKeyDamaged     = errors.New("the key's row is damaged: its checksum does not match")
)

// account is one row of the table accounts.
type account struct {
	id int64 // 0 for one that is to be made
	store.Account
}

func (a *account) encode() (spent, limits string, err error) {
	s, err := json.Marshal(a.Spent)
	if err != nil {
		return "", "", fmt.Errorf("encode account: %w", err)
	}
	l, err := json.Marshal(a.Limits)
	if err != nil {
		return "", "", fmt.Errorf("encode account: %w", err)
	}
	return string(s), string(l), nil
}

func accountSum(name, spent, limits string) uint32 {
	return newSum("accounts").text(name).text(spent).text(limits).crc()
}

// findAccount reads an account, nil if there is none.
func findAccount(ctx context.Context, c *conn, name string) (found *account, err error) {
	damaged := false
	err = c.query(ctx, `SELECT id, name, tag, spent, limits, crc FROM accounts WHERE tag = ? OR name = ?`,
		[]any{tag(name), name}, func(v []driver.Value) error {
			switch a, good := scanAccount(v); {
			case !good:
				damaged = true
			case a.ID == name:
				found = a
			}
			return nil
		})
	if err == nil && found == nil && damaged {
		err = errAccountDamaged
	}
	return found, err
}

// scanAccount reads an account's row, and tells whether it verifies.
func scanAccount(v []driver.Value) (a *account, good bool) {
	cols := columns{v: v}
	a = &account{id: cols.int()}
	a.ID = cols.text()
	storedTag, spent, limits := cols.int(), cols.text(), cols.text()
	good = cols.crc(accountSum(a.ID, spent, limits)) && storedTag == tag(a.ID) &&
		json.Unmarshal([]byte(spent), &a.Spent) == nil && json.Unmarshal([]byte(limits), &a.Limits) == nil
	return a, good
}

// checkSpends books the spends on copies of the accounts and returns those.
func (t *txn) checkSpends(ctx context.Context, spends []store.Spend) ([]*account, error) {
	var booked []*account
	for i := range spends {
		s := &spends[i]
		at := slices.IndexFunc(booked, func(a *account) bool { return a.ID == s.Account })
		if at < 0 {
			a, err := findAccount(ctx, t.c, s.Account)
			if err != nil {
				return nil, fmt.Errorf("spend on account %s: %w", s.Account, err)
			}
			if a == nil && s.Limits == nil {
				return nil, fmt.Errorf("spend on account %s: %w", s.Account, store.ErrNotFound)
			}
			if a == nil {
				a = &account{Account: store.Account{ID: s.Account}}
			}
			at = len(booked)
			booked = append(booked, a)
		}
		if err := booked[at].Book(s); err != nil {
			return nil, err
		}
	}
	return booked, nil
}

func (t *txn) writeSpends(accounts []*account) error {
	for _, a := range accounts {
		spent, limits, err := a.encode()
		if err != nil {
			return err
		}
		t.bytes += 4096
		crc := accountSum(a.ID, spent, limits)
		if a.id == 0 {
			err = t.exec(`INSERT INTO accounts (name, tag, spent, limits, crc) VALUES (?, ?, ?, ?, ?)`, a.ID, tag(a.ID), spent, limits, crc)
		} else {
			err = t.exec(`UPDATE accounts SET spent = ?, limits = ?, crc = ? WHERE id = ?`, spent, limits, crc, a.id)
		}
		if err != nil {
			return fmt.Errorf("spend on account %s: %w", a.ID, err)
		}
	}
	return nil
}

// Account implements [store.Store].
func (s *Store) Account(ctx context.Context, id string) (store.Account, error) {
	var found *account
	err := s.read(ctx, func(c *conn) (err error) {
		found, err = findAccount(ctx, c, id)
		return err
	})
	if err == nil && found == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Account{}, fmt.Errorf("read account %s: %w", id, err)
	}
	return found.Account, nil
}

func keySum(k *store.KeyRecord, at string) uint32 {
	return newSum("keys").text(k.Scope).text(k.Key).text(k.Hash).text(k.Stream).text(at).crc()
}

// findKey reads a key's record, nil if the key is free.
func findKey(ctx context.Context, c *conn, scope, key string) (found *store.KeyRecord, err error) {
	damaged := false
	err = c.query(ctx, `SELECT scope, key, tag, hash, stream, at, crc FROM keys WHERE tag = ? OR (scope = ? AND key = ?)`,
		[]any{tag(scope, key), scope, key}, func(v []driver.Value) error {
			cols := columns{v: v}
			k := &store.KeyRecord{Scope: cols.text(), Key: cols.text()}
			storedTag := cols.int()
			k.Hash, k.Stream = cols.text(), cols.text()
			at := cols.text()
			when, err := parseTime(at)
			switch {
			case err != nil || !cols.crc(keySum(k, at)) || storedTag != tag(k.Scope, k.Key):
				damaged = true
			case k.Scope == scope && k.Key == key:
				k.At = when
				found = k
			}
			return nil
		})
	if err == nil && found == nil && damaged {
		err = errKeyDamaged
	}
	return found, err
}

// checkKeys makes sure that the keys are free.
func (t *txn) checkKeys(ctx context.Context, keys []store.KeyRecord) error {
	for i := range keys {
		k := &keys[i]
		found, err := findKey(ctx, t.c, k.Scope, k.Key)
		if err == nil && found != nil {
			err = &store.KeyTakenError{Record: *found}
		}
		for j := range keys[:i] {
			if err == nil && keys[j].Scope == k.Scope && keys[j].Key == k.Key {
				err = &store.KeyTakenError{Record: keys[j]}
			}
		}
		if err != nil {
			return fmt.Errorf("take key %q: %w", k.Key, err)
		}
	}
	return nil
}

func (t *txn) writeKeys(keys []store.KeyRecord) error {
	for i := range keys {
		k := &keys[i]
		at := timeText(k.At)
		t.bytes += 3 * 4096
		if err := t.exec(`INSERT INTO keys (scope, key, tag, hash, stream, at, crc) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			k.Scope, k.Key, tag(k.Scope, k.Key), k.Hash, k.Stream, at, keySum(k, at)); err != nil {
			return fmt.Errorf("take key %q: %w", k.Key, err)
		}
	}
	return nil
}

// Key implements [store.Store].
func (s *Store) Key(ctx context.Context, scope, key string) (store.KeyRecord, error) {
	var found *store.KeyRecord
	err := s.read(ctx, func(c *conn) (err error) {
		found, err = findKey(ctx, c, scope, key)
		return err
	})
	if err == nil && found == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.KeyRecord{}, fmt.Errorf("read key %q: %w", key, err)
	}
	return *found, nil
}
