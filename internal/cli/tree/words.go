package tree

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a duration to the precision that people read: 340ms, 3.2s, 2m05s, 3h20m, 2d4h.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0ms"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

func until(deadline, now time.Time) string {
	left := deadline.Sub(now)
	if left <= 0 {
		return "due"
	}
	return "waits until " + deadline.Local().Format("15:04:05") + ", " + Duration(left) + " more"
}

// roundText says which round of a repeat an instance belongs to, from 1: "#2" is
// round 3, and of nested repeats "#0#2" is round 1.3.
func roundText(scope string) string {
	parts := strings.Split(strings.TrimPrefix(scope, "#"), "#")
	for i, part := range parts {
		if n, err := strconv.Atoi(part); err == nil {
			parts[i] = strconv.Itoa(n + 1)
		}
	}
	return "round " + strings.Join(parts, ".")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Age is how long ago something was, in one unit: 5s, 12m, 3h, 4d.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(int(d.Seconds()), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}
