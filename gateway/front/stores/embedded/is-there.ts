/** For a `WHERE`: the key doesn't belong to an unfinished import. */
export const isThere = `coalesce(
  (SELECT lastVersion FROM pending WHERE firstVersion <= keys.version
   ORDER BY firstVersion DESC LIMIT 1), 0) < keys.version`
