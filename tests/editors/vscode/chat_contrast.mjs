// All states of the chat in the two high contrast themes.
// req: H9
import { playStates } from "./chat_states.mjs";

await playStates(["Default High Contrast", "Default High Contrast Light"]);
