// All states of the chat in both themes of high contrast.
// req: H9
import { playStates } from "./chat_states.mjs";

await playStates(["Default High Contrast", "Default High Contrast Light"]);
