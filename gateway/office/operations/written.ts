/** An answer of a gateway that is JSON already, as bytes: the office's thread wrote it, so that the loop doesn't. */
export class Written<Value> {
  readonly bytes: Uint8Array
  /** The type of what was written; no value has it. */
  declare readonly value?: Value

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}
