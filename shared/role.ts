/** The roles of operators, from the least to the most that they may do. */
export const roles = ['read', 'support', 'all'] as const

/**
 * A role of operators, and the least role that an operation needs: `read` looks, `support` helps callers as well,
 * `all` does everything.
 */
export type Role = (typeof roles)[number]

/** Whether a role allows what needs another one. */
export function allows(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}
