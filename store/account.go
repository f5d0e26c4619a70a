package store

import (
	"maps"
	"math"
	"slices"
)

// Book takes a spend into the account, or says in a [BudgetError] which unit
// did not fit; the account is then in no defined state and must not be stored.
// It is the one rule of all adapters: an amount above zero must leave the unit
// at or below its limit, one below zero always fits.
func (a *Account) Book(s *Spend) error {
	if s.Limits != nil {
		a.Limits = maps.Clone(s.Limits)
	}
	if a.Spent == nil {
		a.Spent = make(map[string]int64, len(s.Amounts))
	}
	for _, unit := range slices.Sorted(maps.Keys(s.Amounts)) {
		amount, spent := s.Amounts[unit], a.Spent[unit]
		limit, limited := a.Limits[unit]
		if !limited {
			limit = math.MaxInt64
		}
		if !fits(spent, amount, limit) {
			return &BudgetError{Account: a.ID, Unit: unit, Limit: limit, Spent: spent, Amount: amount}
		}
		a.Spent[unit] = spent + amount
	}
	return nil
}

// fits does without sums that could overflow.
func fits(spent, amount, limit int64) bool {
	if amount <= 0 {
		return spent >= math.MinInt64-amount
	}
	room := limit - amount
	return room <= limit && spent <= room
}
